/** What docs/security.md says of the packages that come with this one. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { promisify } from "node:util";

const ROOT = new URL("../../", import.meta.url);

interface Component {
  readonly purl: string;
  readonly properties: readonly { readonly name: string }[];
}

test("npm run sbom lists each package in its version, and says which are for development only", { timeout: 120_000 }, async () => {
  const { stdout } = await promisify(execFile)("npm", ["run", "--silent", "sbom"], { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 });
  const { bomFormat, components } = JSON.parse(stdout) as { bomFormat: string; components: readonly Component[] };
  assert.equal(bomFormat, "CycloneDX");
  const listed = new Map(
    components.map(({ purl, properties }) => [
      decodeURIComponent(purl),
      properties.some(({ name }) => name === "cdx:npm:package:development"),
    ]),
  );
  const text = readFileSync(new URL("package.json", ROOT), "utf8");
  const { dependencies, devDependencies } = JSON.parse(text) as Record<"dependencies" | "devDependencies", Record<string, string>>;
  for (const [name, version] of Object.entries(dependencies)) assert.equal(listed.get(`pkg:npm/${name}@${version}`), false, name);
  for (const name of ["oxlint", "fast-check"]) assert.equal(listed.get(`pkg:npm/${name}@${devDependencies[name]}`), true, name);
});
