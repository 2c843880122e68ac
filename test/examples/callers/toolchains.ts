/** The callers of the examples, made ready to run as their README says, in folders that outlive the run. */
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../../e2e/server-process.ts";
import { findProgram } from "../../find-program.ts";
import { runToEnd } from "../../interop/run-command.ts";
import { blocksOf, chapterOf, document } from "../../readme/markdown.ts";

const EXAMPLES = "examples/callers";

/** What generators read. */
const SCHEMA = ["proto/lf/a2a/v1/a2a.proto", "gen/a2a.binpb"];

const BUILD_MS = 270_000;

/** A language that calls. */
export interface Toolchain {
  /** Its chapter of the README. */
  readonly title: string;
  readonly folder: string;
  readonly sources: readonly string[];
  /** Programs without which it cannot be, and where they come from. */
  readonly needs: Readonly<Record<string, string>>;
}

export const PYTHON: Toolchain = {
  title: "Python",
  folder: "python",
  sources: ["requirements.txt", "caller.py"],
  needs: { python3: "apt-get install python3 python3-venv" },
};

export const GO: Toolchain = {
  title: "Go",
  folder: "go",
  sources: ["go.mod", "go.sum", "buf.gen.yaml", "main.go"],
  needs: { go: "https://go.dev/doc/install" },
};

export const JAVA: Toolchain = {
  title: "Java",
  folder: "java",
  sources: ["pom.xml", "src/main/java/org/example/Caller.java"],
  needs: { java: "apt-get install openjdk-17-jdk-headless", mvn: "apt-get install maven" },
};

/** Why the caller cannot be run on this machine; false where it can. */
export function whyNot({ needs }: Toolchain): string | false {
  const missing = Object.entries(needs).find(([program]) => findProgram(program) === undefined);
  return missing !== undefined && `${missing[0]} is missing (${missing[1]})`;
}

/** A caller that can be run. */
export interface Built {
  readonly directory: string;
  /** The README's second command. */
  readonly line: string;
  /** The same up to the address, as words. */
  readonly command: readonly string[];
}

/**
 * Runs the README's first command on a copy of the caller, once per state of what it is made of; the second one tells how to run it. The
 * copy is not in the repository, so that nothing which was made there once can stand in for what is not made any more.
 */
export async function build({ title, folder, sources }: Toolchain): Promise<Built> {
  const [make = "", run = ""] = commandsOf(title);
  const files = [...SCHEMA, ...sources.map((source) => join(EXAMPLES, folder, source))];
  const digest = createHash("sha256").update(make);
  for (const file of files) digest.update(readFileSync(join(ROOT, file)));
  const cache = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "throughline-interop");
  const home = join(cache, `callers-${folder}-${digest.digest("hex").slice(0, 16)}`);
  if (!existsSync(home)) await buildIn(cache, home, files, { command: make, folder });
  return { directory: join(home, EXAMPLES, folder), line: run, command: run.slice(0, run.indexOf(" 127.0.0.1:")).split(" ") };
}

/** The commands of a chapter of the README. */
export function commandsOf(title: string): string[] {
  const [block] = blocksOf(chapterOf(document(`${EXAMPLES}/README.md`), title));
  return (block?.text ?? "").trimEnd().split("\n");
}

/** Another run may build the same: what is there under its name is whole. */
async function buildIn(cache: string, home: string, files: readonly string[], make: { command: string; folder: string }): Promise<void> {
  mkdirSync(cache, { recursive: true });
  const copy = mkdtempSync(join(cache, "building-"));
  try {
    for (const file of files) cpSync(join(ROOT, file), join(copy, file), { recursive: true });
    // buf comes from the repository's packages, which npx finds beside its caller.
    symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
    const cwd = join(copy, EXAMPLES, make.folder);
    const { code, stdout, stderr } = await runToEnd({ file: "/bin/sh", args: ["-c", make.command], cwd }, BUILD_MS);
    if (code !== 0) throw new Error(`${make.command} ended with ${code ?? "a signal"}\n${stdout}${stderr}`);
    renameSync(copy, home);
  } catch (error) {
    if (!existsSync(home)) throw error;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
