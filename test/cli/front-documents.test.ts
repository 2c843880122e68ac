/** What the documents say of `throughline serve --upstream`, against what it does. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { upstreamOptions } from "../../src/cli/upstream-flags.ts";
import { QUICK, startServer } from "../e2e/server-process.ts";
import { blocksOf, chapterOf, document, sectionOf, shapeOf } from "../readme/markdown.ts";
import { session } from "../readme/session.ts";
import { fileRedis } from "../redis/file-redis.ts";

const page = document("docs/front.md");
/** On a busy machine the agent may take longer than usual to say something: the transcript shows the usual. */
const STEADY = { ...QUICK, THROUGHLINE_WORKING_AFTER_MS: "60000" };

/** The arguments of `serve` in a command as it is shown. */
function argumentsOf(command: string): string[] {
  const [, rest = ""] = / serve (.*)\n$/.exec(command) ?? assert.fail(`this serves nothing: ${command}`);
  return rest.split(" ");
}

test("the front of the README serves", { timeout: 120_000 }, async () => {
  await using upstream = await startServer(["examples/list-worker/agent.ts"], STEADY);
  const redis = await fileRedis();
  const [block] = blocksOf(chapterOf(document("README.md"), "In front of an agent that you have"));
  const args = argumentsOf(block?.text ?? "").map((word) => {
    if (word.startsWith("http://")) return `http://127.0.0.1:${upstream.ports.http}`;
    return word.startsWith("redis://") ? redis.url : word;
  });
  await using front = await startServer(args, STEADY);
  assert.match(front.process.stdout, /^List worker is served\n/);
});

suite("docs/front.md", { timeout: 120_000 }, () => {
  test("has the options as they are", () => {
    const rows = upstreamOptions().map(({ flags, envVar, description }) => `| \`${flags}\` | \`${envVar}\` | ${description} |\n`);
    assert.equal(sectionOf(page, "upstream options"), `| flag | variable | meaning |\n| --- | --- | --- |\n${rows.join("")}`);
  });

  test("shows what its commands print", async () => {
    const [serve = "", send = ""] = blocksOf(page).flatMap(({ language, text }) => (language === "sh" ? [text] : []));
    const [served = "", sent = ""] = blocksOf(page).flatMap(({ language, text }) => (language === "text" ? [text] : []));
    await using upstream = await startServer(["examples/list-worker/agent.ts"], STEADY);
    // Its ports are those of somebody who runs nothing else.
    const ports = new Map([["8080", upstream.ports.http]]);
    const actual = (text: string): string => [...ports].reduce((all, [shown, port]) => all.replaceAll(shown, String(port)), text);
    await using front = await startServer(argumentsOf(actual(serve.replaceAll(/(port) \d+/g, "$1 0"))), STEADY);
    ports.set("50052", front.ports.grpc).set("8081", front.ports.http).set("9465", front.ports.ops);
    assert.match(front.process.stdout, shapeOf(actual(served)));
    const prelude = `exec 2>&1\nthroughline() { '${process.execPath}' src/cli/main.ts "$@"; }\n`;
    const [printed = ""] = await session([prelude + actual(send)]);
    assert.match(printed, shapeOf(sent));
  });
});
