/**
 * `npm run test:interop [-- --only python,go]`: foreign servers with our client, foreign clients on our server, and a front before an agent in
 * Python. Writes docs/interop.md where all were run. Exit code 1 where something came otherwise than is known, 2 where the command line is
 * wrong or a program is missing.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../e2e/server-process.ts";
import { ensureRedisServer } from "../redis/install-redis.ts";
import type { ForeignKit } from "./foreign-kit.ts";
import { KITS } from "./kits.ts";
import { interopPage } from "./page.ts";
import { missingTools, runKits, surprises } from "./run.ts";
import { runToEnd } from "./run-command.ts";

const FRONT_MS = 10 * 60_000;

const USAGE = `usage: npm run test:interop [-- --only ${KITS.map(({ name }) => name).join(",")}]\n`;

async function main(): Promise<number> {
  const only = asked();
  if (only === undefined) return 2;
  const kits = only.length === 0 ? KITS : KITS.filter(({ name }) => only.includes(name));
  const missing = missingTools(kits);
  if (missing.length > 0) {
    process.stderr.write(`${missing.join("\n")}\nOr leave a language out: ${USAGE}`);
    return 2;
  }
  ensureRedisServer();
  const rows = await runKits(kits, (line) => void process.stdout.write(`${line}\n`));
  if (only.length === 0)
    writeFileSync(join(ROOT, "docs/interop.md"), interopPage({ ...rows, about: kits.flatMap(({ about = [] }) => about) }));
  const wrong = surprises(rows);
  for (const line of wrong) process.stdout.write(`not as expected: ${line}\n`);
  const fronted = kits.some(({ name }) => name === "python") ? await frontBeforePython() : 0;
  return wrong.length === 0 && fronted === 0 ? 0 : 1;
}

/** A front before a Python agent, in the environment that was built for its kit. Answers the exit code. */
async function frontBeforePython(): Promise<number | null> {
  const args = ["test/run.ts", "test/upstream/python.test.ts"];
  const { code, stdout, stderr } = await runToEnd({ file: process.execPath, args, cwd: ROOT }, FRONT_MS);
  process.stdout.write(stdout + stderr);
  return code;
}

/** The kits named on the command line, none for all; undefined where it is wrong, which is told. */
function asked(): readonly ForeignKit["name"][] | undefined {
  try {
    const { values } = parseArgs({ options: { only: { type: "string" } } });
    const names = values.only?.split(",") ?? [];
    const unknown = names.find((name) => !KITS.some((kit) => kit.name === name));
    if (unknown === undefined) return names;
    process.stderr.write(`--only: there is no ${unknown}\n${USAGE}`);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
  }
  return undefined;
}

process.exitCode = await main();
