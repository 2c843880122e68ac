/** Reads from the append-only file of a Redis, running or dead, every log that it was ever given: also what was trimmed or lost since. */
import { existsSync, linkSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Entry } from "../../src/core/log-entry.ts";
import { removeFolder, temporaryFolder } from "../redis/child-guard.ts";
import { logEntry, taskOfLog } from "./redis-logs.ts";

/** Entries by their task, in the order in which they were stored. */
export type Logs = ReadonlyMap<string, readonly Entry[]>;

/** For {@link readAof}: what a rewritten file begins with is text as well, and what is there is not rewritten without need. */
export const AOF_ARGS = ["--aof-use-rdb-preamble", "no", "--auto-aof-rewrite-percentage", "0"] as const;

const FOLDER = "appendonlydir";
const LOOK_MS = 200;
const MANIFEST = "appendonly.aof.manifest";

/** The logs in the files of a server with this folder. The last commands of one that is running or was killed may be cut off. */
export function readAof(dir: string): Logs {
  const folder = join(dir, FOLDER);
  return readFiles(filesOf(folder).map((name) => join(folder, name)));
}

/** Keeps the files of servers that give up what they have for what another has, as a master does that was replaced. */
export class AofArchive implements Disposable {
  readonly #dirs: readonly string[];
  readonly #kept = temporaryFolder("aof");
  /** Files that belong together, by the first of them. */
  readonly #histories = new Map<string, readonly string[]>();
  readonly #timer: NodeJS.Timeout;

  constructor(dirs: readonly string[]) {
    this.#dirs = dirs;
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
  }

  /** All logs that a server had at a time, as far as it came with them: one for each time that it began anew. */
  histories(): readonly Logs[] {
    this.#look();
    return [...this.#histories.values()].map(readFiles);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    removeFolder(this.#kept);
  }

  #look(): void {
    for (const [server, dir] of this.#dirs.entries()) {
      try {
        const names = filesOf(join(dir, FOLDER));
        const paths = names.map((name) => join(this.#kept, `${server} ${name}`));
        for (const [index, path] of paths.entries()) if (!existsSync(path)) linkSync(join(dir, FOLDER, names[index] as string), path);
        if (paths[0] !== undefined) this.#histories.set(paths[0], paths);
      } catch (error) {
        // It begins anew at this moment: the next look finds what it has then.
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      }
    }
  }
}

/** The base and what was appended to it, in their order. */
function filesOf(folder: string): string[] {
  const manifest = join(folder, MANIFEST);
  if (!existsSync(manifest)) return [];
  return readFileSync(manifest, "utf8")
    .split("\n")
    .flatMap((line) => /^file (\S+) seq \d+ type [bi]$/.exec(line)?.[1] ?? []);
}

function readFiles(paths: readonly string[]): Logs {
  const logs = new Map<string, Entry[]>();
  for (const path of paths) {
    for (const [command, key, id, ...fields] of transactions(readFileSync(path))) {
      if (key === undefined || id === undefined || nameOf(command) !== "XADD") continue;
      const taskId = taskOfLog(key.toString());
      if (taskId === undefined) continue;
      const entries = logs.get(taskId) ?? [];
      entries.push(logEntry(id, fields));
      logs.set(taskId, entries);
    }
  }
  return logs;
}

/** All commands but those of a transaction that is not complete: a server that starts with the file drops them too. */
function* transactions(bytes: Buffer): Generator<readonly Buffer[]> {
  let open: (readonly Buffer[])[] | undefined;
  for (const command of commands(bytes)) {
    const name = nameOf(command[0]);
    if (name === "MULTI") open = [];
    else if (name === "EXEC") {
      yield* open ?? [];
      open = undefined;
    } else if (open === undefined) yield command;
    else open.push(command);
  }
}

function nameOf(command: Buffer | undefined): string | undefined {
  return command?.toString().toUpperCase();
}

/** `*<count>`, then `$<length>` and so many bytes for each, all lines ended by CR LF. */
function* commands(bytes: Buffer): Generator<readonly Buffer[]> {
  let at = 0;
  const number = (): number => {
    const end = bytes.indexOf("\r\n", at);
    const value = end < 0 ? Number.NaN : Number(bytes.toString("latin1", at + 1, end));
    at = end + 2;
    return value;
  };
  while (at < bytes.length) {
    const count = number();
    const command: Buffer[] = [];
    for (let index = 0; index < count; index += 1) {
      const length = number();
      if (!(at + length + 2 <= bytes.length)) return;
      // A copy: a slice would keep the whole file in memory.
      command.push(Buffer.from(bytes.subarray(at, at + length)));
      at += length + 2;
    }
    if (Number.isNaN(count)) return;
    yield command;
  }
}
