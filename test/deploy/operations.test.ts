/** docs/operations.md: what it shows is what is there, and what it says to type works. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { readOptions } from "../../src/cli/read-options.ts";
import { longestDrainMs } from "../../src/server/drain-time.ts";
import { resolveOptions } from "../../src/server/options.ts";
import { ROOT } from "../e2e/server-process.ts";
import { removeFolder, temporaryFolder } from "../redis/child-guard.ts";
import { checkObjects } from "./object-schemas.ts";
import { CANNOT_RENDER, render } from "./render.ts";

const TEXT = readFileSync(join(ROOT, "docs/operations.md"), "utf8");
const seconds = (ms: number): number => Math.ceil(ms / 1000);

/** The blocks of code in a language. */
function blocks(language: string): string[] {
  return [...TEXT.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "gm"))].map(([, text = ""]) => text);
}

suite("docs/operations.md", { timeout: 280_000 }, () => {
  test("shows the nginx configuration that the tests run", () => {
    assert.deepEqual(blocks("nginx"), [readFileSync(join(ROOT, "deploy/nginx/throughline.conf"), "utf8")]);
  });

  test("tells how long a drain takes at most", () => {
    assert.ok(TEXT.includes(`Together ${longestDrainMs(resolveOptions({})) / 1000} s at most`));
  });

  test("has commands that work", { skip: CANNOT_RENDER }, async () => {
    const commands = blocks("sh").flatMap((block) => block.trim().split("\n"));
    assert.ok(commands.length > 0);
    for (const command of commands) {
      const [, folder = ""] = /^kubectl kustomize deploy\/kustomize\/(\S+)$/.exec(command) ?? assert.fail(`not tried: ${command}`);
      assert.ok((await render(folder)).length > 0);
    }
  });

  test("shows a folder with a Redis of one's own that renders, and has no other", { skip: CANNOT_RENDER }, async () => {
    const [, kustomization] = blocks("yaml");
    const [, line] = /`(THROUGHLINE_REDIS_URL=[^`]+)`/.exec(TEXT) ?? assert.fail();
    const folder = temporaryFolder("own");
    try {
      symlinkSync(ROOT, join(folder, "throughline"));
      mkdirSync(join(folder, "mine"));
      writeFileSync(join(folder, "mine/kustomization.yaml"), kustomization ?? "");
      writeFileSync(join(folder, "mine/redis.env"), `${line}\n`);
      const objects = await render(join(folder, "mine"));
      await checkObjects(objects);
      assert.ok(!objects.some(({ kind }) => kind === "StatefulSet"));
      const secret = objects.find(({ kind }) => kind === "Secret");
      const url = (secret?.["data"] as Record<string, string> | undefined)?.["THROUGHLINE_REDIS_URL"] ?? "";
      assert.equal(`THROUGHLINE_REDIS_URL=${Buffer.from(url, "base64").toString()}`, line);
    } finally {
      removeFolder(folder);
    }
  });

  test("shows a folder of one's own that renders, with a time to drain that fits its options", { skip: CANNOT_RENDER }, async () => {
    const [kustomization] = blocks("yaml");
    const folder = temporaryFolder("own");
    try {
      symlinkSync(ROOT, join(folder, "throughline"));
      mkdirSync(join(folder, "mine"));
      writeFileSync(join(folder, "mine/kustomization.yaml"), kustomization ?? "");
      const objects = await render(join(folder, "mine"));
      await checkObjects(objects);
      const deployment = objects.find(({ kind }) => kind === "Deployment") ?? assert.fail();
      const { template } = deployment["spec"] as {
        template: { spec: { terminationGracePeriodSeconds: number; containers: { image: string }[] } };
      };
      assert.equal(template.spec.containers[0]?.image, "registry.example.com/my-agent:1.4.2");
      const variables = objects.flatMap((object) => (object.kind === "ConfigMap" ? [object["data"] as Record<string, string>] : []));
      const options = await readOptions({}, Object.assign({}, ...variables) as Record<string, string>, undefined);
      assert.equal(options.drainMs, 60_000);
      // As much longer than the drain as the usual one is.
      assert.equal(template.spec.terminationGracePeriodSeconds - seconds(longestDrainMs(options)), 4);
    } finally {
      removeFolder(folder);
    }
  });
});
