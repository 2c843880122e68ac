/** The files of a project as they were at a commit, in a directory of their own. */
import { spawn } from "node:child_process";
import { access, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commandEnv } from "./child-process.ts";
import { CannotRun } from "./projects.ts";

/** Disposing of it removes the files. */
export interface Checkout extends AsyncDisposable {
  /** The project's directory in the files that were checked out. */
  readonly directory: string;
  /** The full name of the commit. */
  readonly sha: string;
}

/**
 * Checks the whole repository out (a project may reach for its neighbours), through an index of its own: the repository,
 * its working tree and its list of worktrees stay untouched, so that a crash leaves nothing but a temporary directory.
 * Dependencies are not in a commit: the installed `node_modules` are linked in. Submodules stay empty.
 * `commit` must have passed `isCommitName`. Throws {@link CannotRun} for a commit or a repository that is not there.
 */
export async function checkOut(project: string, commit: string, signal: AbortSignal): Promise<Checkout> {
  const where = await git(project, ["rev-parse", "--show-toplevel", "--show-prefix"], signal);
  const [top = "", prefix = ""] = where?.split("\n") ?? [];
  if (top === "") throw new CannotRun("the project is in no git repository");
  const sha = (await git(top, ["rev-parse", "--verify", "--quiet", `${commit}^{commit}`], signal))?.trim();
  if (!sha) throw new CannotRun(`there is no commit ${commit}`);

  const temporary = await mkdtemp(join(tmpdir(), "throughline-checkout-"));
  const remove = (): Promise<void> => rm(temporary, { recursive: true, force: true });
  try {
    const files = join(temporary, "files");
    const index = { GIT_INDEX_FILE: join(temporary, "index") };
    const done =
      (await git(top, ["read-tree", sha], signal, index)) !== undefined &&
      (await git(top, ["checkout-index", "--all", `--prefix=${files}/`], signal, index)) !== undefined;
    if (!done) throw new CannotRun(`the files of ${commit} could not be checked out`);
    const directory = join(files, prefix);
    await linkModules(top, files);
    if (prefix !== "") await linkModules(project, directory);
    return { directory, sha, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function linkModules(from: string, to: string): Promise<void> {
  const [source, target] = [join(from, "node_modules"), join(to, "node_modules")];
  if ((await exists(source)) && (await exists(to)) && !(await exists(target))) await symlink(source, target, "dir");
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** What git prints, or undefined when it fails. Resolves after it has exited, also when the signal ended it. */
async function git(cwd: string, args: readonly string[], signal: AbortSignal, env: NodeJS.ProcessEnv = {}): Promise<string | undefined> {
  signal.throwIfAborted();
  const child = spawn("git", args, { cwd, env: { ...commandEnv(cwd), ...env }, stdio: ["ignore", "pipe", "ignore"], signal });
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed += text;
  });
  const code = await new Promise<number | null>((resolve) => {
    // an error (no git, an abort) is followed by close
    child.on("error", () => undefined).once("close", resolve);
  });
  signal.throwIfAborted();
  return code === 0 ? printed : undefined;
}
