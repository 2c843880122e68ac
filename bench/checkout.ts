/** Our server as it was at another commit. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import type { Binding } from "./drivers/driver.ts";
import { startServer } from "./processes.ts";
import { OURS, type Program } from "./programs.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const run = promisify(execFile);

/** A commit's files in a temporary folder. Disposing removes it. */
export interface Checkout extends AsyncDisposable {
  /** Its server, which says itself what it speaks. */
  readonly program: Program;
}

/** Lays out the commit that `ref` names, with the packages that are installed here. Rejects where there is none, or its server does not start. */
export async function checkOut(ref: string): Promise<Checkout> {
  const name = (await git("rev-parse", "--short", "--verify", "--quiet", "--end-of-options", `${ref}^{commit}`)).trim();
  const folder = await mkdtemp(join(tmpdir(), `bench-${name}-`));
  const remove = (): Promise<void> => rm(folder, { recursive: true });
  try {
    // Not a worktree: git would have to be told when the folder is gone.
    await git("archive", "--output", join(folder, "commit.tar"), name);
    await run("tar", ["-xf", "commit.tar"], { cwd: folder });
    await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
    const program = { ...OURS, name, main: pathToFileURL(join(folder, "bench", "our-server.ts")) };
    await using server = await startServer(program);
    return { program: { ...program, speaks: Object.keys(server.urls) as Binding[] }, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function git(...args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await run("git", args, { cwd: ROOT });
    return stdout;
  } catch (error) {
    throw new Error(`git ${args.join(" ")} failed`, { cause: error });
  }
}
