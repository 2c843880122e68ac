/** Which projects may be tested, and by which command. */
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** Allowed directories by the name that callers use. */
export type Projects = ReadonlyMap<string, string>;

/** A reason why the tests cannot be run that the caller may read. */
export class CannotRun extends Error {
  override readonly name = "CannotRun";
}

const variable = "THROUGHLINE_TEST_RUNNER_PROJECTS";

/**
 * The example project, and what `THROUGHLINE_TEST_RUNNER_PROJECTS` adds to it: `name=/path,name2=/path2`.
 * Throws for an entry that is not of this form.
 */
export function allowedProjects(env: NodeJS.ProcessEnv): Projects {
  const projects = new Map([["payments-api", fileURLToPath(new URL("../payments-api", import.meta.url))]]);
  for (const entry of (env[variable] ?? "").split(",")) {
    if (entry.trim() === "") continue;
    const match = /^([\w.-]+)=(.+)$/.exec(entry.trim());
    if (!match) throw new Error(`${variable}: expected name=/path, found ${JSON.stringify(entry)}`);
    projects.set(match[1] ?? "", resolve(match[2] ?? ""));
  }
  return projects;
}

/** The `test` script of a project's package.json. Throws {@link CannotRun} where there is none. */
export async function testScript(directory: string): Promise<string> {
  let text: string;
  try {
    text = await readFile(join(directory, "package.json"), "utf8");
  } catch {
    throw new CannotRun("the project has no package.json there");
  }
  let script: unknown;
  try {
    script = (JSON.parse(text) as { scripts?: { test?: unknown } } | null)?.scripts?.test;
  } catch {
    throw new CannotRun("the project's package.json is no JSON");
  }
  if (typeof script !== "string" || script.trim() === "") throw new CannotRun("the project's package.json has no test script");
  return script;
}
