/** The words that lines to copy begin with: they work where the program was called. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { commandLine } from "../../src/cli/command-line.ts";

const CALLED: readonly (readonly [what: string, script: string, env: Record<string, string>, expected: string])[] = [
  ["installed for all", "/usr/local/bin/throughline", { PATH: "/usr/bin:/usr/local/bin" }, "throughline"],
  ["by its path", "/home/me/app/node_modules/.bin/throughline", { PATH: "/usr/bin" }, "node node_modules/.bin/throughline"],
  [
    "by npx",
    "/home/me/app/node_modules/.bin/throughline",
    { PATH: "/home/me/app/node_modules/.bin:/usr/bin", npm_execpath: "/npm-cli.js", INIT_CWD: "/home/me/app" },
    "npx throughline",
  ],
  ["from the source", "/home/me/app/src/cli/main.ts", { PATH: "/usr/bin" }, "node src/cli/main.ts"],
  ["from the source, in a folder with a space", "/home/me/app/my code/main.ts", {}, "node 'my code/main.ts'"],
  ["from the source, by npm", "/home/me/app/src/cli/main.ts", { npm_execpath: "/npm-cli.js" }, "npx node src/cli/main.ts"],
  [
    "from the source, by npm in a folder below",
    "/home/me/app/src/cli/main.ts",
    { npm_execpath: "/npm-cli.js", INIT_CWD: "/home/me/app/docs" },
    "npx node ../src/cli/main.ts",
  ],
];

for (const [what, script, env, expected] of CALLED) {
  test(`a program that was called ${what} is called again in the same way`, () => {
    assert.equal(commandLine({ script, env, cwd: "/home/me/app" }), expected);
  });
}
