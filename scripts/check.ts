/** `npm run check`: everything that can be told without running the product. Stops at the first step that fails. */
import { spawnSync } from "node:child_process";

const steps: readonly (readonly [name: string, command: string])[] = [
  ["format", "oxfmt --check ."],
  ["lint", "oxlint --type-aware --deny-warnings"],
  ["types", "tsc --noEmit"],
  ["schema lint", "buf lint"],
  ["generate", "npm run --silent generate"],
  ["generated code is committed", "git diff --exit-code --stat -- gen test/gen"],
  ["rules and tests", "node scripts/conformance.ts --check"],
  ["unused code", "knip"],
  ["build", "npm run --silent build"],
  ["package", "publint --strict"],
  ["package types", "attw --pack . --profile esm-only --exclude-entrypoints a2a.binpb"],
];

for (const [name, command] of steps) {
  const started = performance.now();
  const { status, stdout, stderr } = spawnSync(command, { shell: true, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  if (status !== 0) {
    process.stderr.write(`${stdout}${stderr}check: ${name} failed (${command})\n`);
    process.exit(1);
  }
  process.stdout.write(`ok ${name} ${((performance.now() - started) / 1000).toFixed(1)} s\n`);
}
