/** The look at what a user of Redis may do, when a store is opened. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";

const SCRIPTS = new URL("../../src/storage/redis/scripts/", import.meta.url);

test("every command that a script calls is tried when the store is opened", () => {
  const called = new Set<string>();
  const files = globSync("*.lua", { cwd: SCRIPTS.pathname });
  assert.ok(files.length > 10);
  for (const file of files) {
    if (file === "probe.lua") continue;
    for (const [, name = ""] of readFileSync(new URL(file, SCRIPTS), "utf8").matchAll(/redis\.p?call\('([A-Z]+)'/g)) called.add(name);
  }
  const tried = new Set([...readFileSync(new URL("probe.lua", SCRIPTS), "utf8").matchAll(/\{ '([A-Z]+)'/g)].map(([, name = ""]) => name));
  assert.deepEqual(
    [...called].filter((name) => !tried.has(name)),
    [],
  );
});
