/** Notifications in a directory. */
import { createHash } from "node:crypto";
import { readdir, readFile, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { unlessMissing, writeNew } from "../write-new.ts";
import { type Inbox, keyOf, type StoredNotification } from "./inbox.ts";

const DAY_MS = 24 * 60 * 60_000;
/** How long it is remembered what has come, and which task a webhook is for: longer than any server tries. */
const REMEMBERED_MS = 90 * DAY_MS;

/**
 * An inbox of files: `pending/<digest>.json` each with a notification, `seen/<digest>` each for one that has come, `tasks/<webhook>` each with the id
 * of its task. Any number of processes may receive into it, and one hands on; a notification whose process died in the middle comes again. What is
 * older than 90 days is forgotten, but for what is pending. A file that cannot be read ends what is handed on, with an error that names it.
 */
export class FileInbox implements Inbox {
  readonly directory: string;
  #forgotten = 0;

  /** The directory is made when something comes. */
  constructor(directory: string) {
    this.directory = directory;
  }

  async put(notification: StoredNotification): Promise<boolean> {
    await this.#forget();
    const name = digestOf(keyOf(notification));
    if (await isThere(this.#path("seen", name))) return false;
    // Kept before it is marked as seen: a crash between the two makes it come twice, and never loses it.
    await writeNew(this.#path("pending", `${name}.json`), JSON.stringify(notification));
    return writeNew(this.#path("seen", name), "");
  }

  async pending(): Promise<readonly StoredNotification[]> {
    const names = (await this.#names("pending")).filter((name) => name.endsWith(".json"));
    const read = await Promise.all(names.map((name) => readStored(this.#path("pending", name))));
    return read.filter((stored) => stored !== undefined).toSorted((a, b) => a.receivedAt - b.receivedAt);
  }

  async done(notification: StoredNotification): Promise<void> {
    await unlink(this.#path("pending", `${digestOf(keyOf(notification))}.json`)).catch(unlessMissing(undefined));
  }

  async bind(webhookId: string, taskId: string): Promise<string> {
    const path = this.#path("tasks", digestOf(webhookId));
    const known = await readFile(path, "utf8").catch(unlessMissing(undefined));
    if (known !== undefined) return known;
    return (await writeNew(path, taskId)) ? taskId : readFile(path, "utf8");
  }

  /** Once a day. */
  async #forget(): Promise<void> {
    const now = Date.now();
    if (now - this.#forgotten < DAY_MS) return;
    this.#forgotten = now;
    for (const folder of ["seen", "tasks"]) {
      for (const name of await this.#names(folder)) {
        const path = this.#path(folder, name);
        const { mtimeMs } = await stat(path).catch(unlessMissing({ mtimeMs: now }));
        if (now - mtimeMs > REMEMBERED_MS) await unlink(path).catch(unlessMissing(undefined));
      }
    }
  }

  #names(folder: string): Promise<string[]> {
    return readdir(join(this.directory, folder)).catch(unlessMissing([]));
  }

  #path(folder: string, name: string): string {
    return join(this.directory, folder, name);
  }
}

/** A notification as it was put; undefined where it is not there any more. Throws an error that names the file where somebody else has changed it. */
async function readStored(path: string): Promise<StoredNotification | undefined> {
  const text = await readFile(path, "utf8").catch(unlessMissing(undefined));
  try {
    return text === undefined ? undefined : (JSON.parse(text) as StoredNotification);
  } catch (cause) {
    throw new Error(`${path} is no notification as it was stored: repair it, or take it away`, { cause });
  }
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(unlessMissing(undefined))) !== undefined;
}
