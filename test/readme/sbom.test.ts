/** What docs/security.md says of the packages that come with this one. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { promisify } from "node:util";

const ROOT = new URL("../../", import.meta.url);

test(
  "npm run sbom lists each package that is installed with this one, and none that is for its development only",
  { timeout: 120_000 },
  async () => {
    const { stdout } = await promisify(execFile)("npm", ["run", "--silent", "sbom"], { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 });
    const { bomFormat, components } = JSON.parse(stdout) as {
      bomFormat: string;
      components: { name: string; version: string; purl: string }[];
    };
    assert.equal(bomFormat, "CycloneDX");
    const listed = new Map(components.map(({ purl }) => [decodeURIComponent(purl).replace(/^pkg:npm\/(.+)@[^@]+$/, "$1"), purl]));
    const { dependencies, devDependencies } = JSON.parse(readFileSync(new URL("package.json", ROOT), "utf8")) as Record<
      string,
      Record<string, string>
    >;
    for (const [name, version] of Object.entries(dependencies ?? {})) assert.ok(listed.get(name)?.endsWith(`@${version}`), name);
    for (const name of Object.keys(devDependencies ?? {})) if (name !== "typescript") assert.ok(!listed.has(name), name);
  },
);
