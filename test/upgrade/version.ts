/** Versions of this program in folders of their own, each ready to be run. */
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "../e2e/server-process.ts";
import { removeFolder, temporaryFolder } from "../redis/child-guard.ts";
import { PREVIOUS_RELEASE } from "./previous-release.ts";

/** What it takes to run from the source. */
const PARTS = ["src", "gen", "package.json"];
/** An agent has the helpers of its own version: by the place where it lies. */
const AGENT = "test/rolling/agent.ts";
const MAX_ARCHIVE_BYTES = 64 * 1024 * 1024;

/** A text in a file of the source, and what it becomes. */
interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** A version that can be started. */
export class Version implements Disposable {
  readonly name: string;
  readonly #folder: string;

  private constructor(name: string, folder: string) {
    this.name = name;
    this.#folder = folder;
  }

  /** The one in the working tree. */
  static current(): Version {
    return new Version("current", ROOT);
  }

  /**
   * Why the release before cannot run here, as `skip` of a test takes it; false where it can. A shallow clone gets it from where it came from;
   * what was copied without its history cannot.
   */
  static noPrevious(): string | false {
    if (isKnown(PREVIOUS_RELEASE)) return false;
    try {
      git("fetch", "--quiet", "--depth", "1", "origin", PREVIOUS_RELEASE);
      return false;
    } catch {
      return `the release before, ${PREVIOUS_RELEASE.slice(0, 12)}, is not in this repository's history: git fetch --unshallow, or git fetch origin ${PREVIOUS_RELEASE}`;
    }
  }

  /** The release before, from the history of this repository, with the packages of today. */
  static previous(): Version {
    const version = Version.#empty("previous");
    const tar = git("archive", PREVIOUS_RELEASE, ...PARTS);
    execFileSync("tar", ["-x", "-C", version.#folder], { input: tar });
    return version.#withAgent();
  }

  /** The working tree with changes. */
  static edited(name: string, edits: readonly Edit[]): Version {
    const version = Version.#empty(name);
    for (const part of PARTS) cpSync(join(ROOT, part), join(version.#folder, part), { recursive: true });
    for (const { file, from, to } of edits) {
      const path = join(version.#folder, file);
      const text = readFileSync(path, "utf8");
      if (text.split(from).length !== 2) throw new Error(`${file} has not exactly one ${from}`);
      writeFileSync(path, text.replace(from, to));
    }
    return version.#withAgent();
  }

  /** What its files say; undefined where it has no such file. */
  static ofPrevious(file: string): string | undefined {
    try {
      return git("show", `${PREVIOUS_RELEASE}:${file}`).toString();
    } catch {
      return undefined;
    }
  }

  static #empty(name: string): Version {
    const version = new Version(name, temporaryFolder(name));
    symlinkSync(join(ROOT, "node_modules"), join(version.#folder, "node_modules"));
    return version;
  }

  #withAgent(): this {
    mkdirSync(dirname(this.agent), { recursive: true });
    copyFileSync(join(ROOT, AGENT), this.agent);
    return this;
  }

  /** Its command line. */
  get main(): string {
    return join(this.#folder, "src/cli/main.ts");
  }

  /** Its agent: `until /path 20`, `ask` and whatever comes after. */
  get agent(): string {
    return join(this.#folder, AGENT);
  }

  [Symbol.dispose](): void {
    if (this.#folder !== ROOT) removeFolder(this.#folder);
  }
}

function isKnown(commit: string): boolean {
  try {
    git("cat-file", "-e", commit);
    return true;
  } catch {
    return false;
  }
}

function git(...args: readonly string[]): Buffer {
  return execFileSync("git", args, { cwd: ROOT, maxBuffer: MAX_ARCHIVE_BYTES, timeout: 60_000, stdio: ["ignore", "pipe", "pipe"] });
}
