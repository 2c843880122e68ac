/** Records in a directory: a file each, for people, for backups and for any number of processes. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { unlessMissing, writeNew } from "../write-new.ts";
import { AcceptanceError } from "./acceptance-error.ts";
import type { AcceptanceRecord } from "./record.ts";
import { readRecord, recordText } from "./record-json.ts";
import type { ContextRecords, RecordStore } from "./record-store.ts";

const RECORD_FILE = /^\d{6,}\.json$/;
const DIGEST = /^sha256:([0-9a-f]{64})$/;

/**
 * A store of files: `contexts/<context>/000001.json`, `000002.json` and so on, and kept bytes as `content/<digest>`. A file is written aside, put
 * to disk, and linked to its name, which succeeds for one process only: so there is no lock that a crash could leave behind, and no
 * file that is half written. Needs a file system with hard links. Only its user can read what is in it.
 */
export class FileRecords implements RecordStore {
  readonly directory: string;

  /** The directory is made when something is put into it. */
  constructor(directory: string) {
    this.directory = directory;
  }

  read(contextId: string): Promise<ContextRecords> {
    return readContext(this.#folder(contextId));
  }

  append(record: AcceptanceRecord, end: number): Promise<boolean> {
    const name = `${String(end + 1).padStart(6, "0")}.json`;
    return writeNew(join(this.#folder(record.contextId), name), recordText(record));
  }

  async all(): Promise<readonly AcceptanceRecord[]> {
    const contexts = join(this.directory, "contexts");
    const all: AcceptanceRecord[] = [];
    for (const name of (await namesIn(contexts)).toSorted()) all.push(...(await readContext(join(contexts, name))).records);
    return all;
  }

  async keep(digest: string, bytes: Uint8Array): Promise<void> {
    await writeNew(this.#content(digest), bytes);
  }

  content(digest: string): Promise<Uint8Array | undefined> {
    return readFile(this.#content(digest)).catch(unlessMissing(undefined));
  }

  #folder(contextId: string): string {
    return join(this.directory, "contexts", folderName(contextId));
  }

  #content(digest: string): string {
    const [, hex] = DIGEST.exec(digest) ?? [];
    if (hex === undefined) throw new AcceptanceError("digest", "it must be sha256: and 64 hex digits");
    return join(this.directory, "content", hex);
  }
}

async function readContext(folder: string): Promise<ContextRecords> {
  const numbered = (await namesIn(folder))
    .filter((name) => RECORD_FILE.test(name))
    .map((name) => ({ path: join(folder, name), number: Number.parseInt(name, 10) }))
    .toSorted((a, b) => a.number - b.number);
  const records: AcceptanceRecord[] = [];
  for (const { path } of numbered) records.push(await readOne(path));
  return { records, end: numbered.at(-1)?.number ?? 0 };
}

async function readOne(path: string): Promise<AcceptanceRecord> {
  try {
    return readRecord(await readFile(path, "utf8"));
  } catch (error) {
    if (!(error instanceof AcceptanceError)) throw error;
    throw new AcceptanceError(path, error.message, { cause: error });
  }
}

function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(unlessMissing([]));
}

/** A context's id as one name that no file system confuses with that of another. */
function folderName(contextId: string): string {
  const bytes = [...Buffer.from(contextId, "utf8")];
  const escaped = bytes.map((byte) => {
    const letter = String.fromCharCode(byte);
    return /[a-z0-9_-]/.test(letter) ? letter : `%${byte.toString(16).padStart(2, "0")}`;
  });
  const name = escaped.join("");
  if (name.length <= 200) return name || "%";
  return `${name.slice(0, 120)}~${createHash("sha256").update(contextId).digest("hex")}`;
}
