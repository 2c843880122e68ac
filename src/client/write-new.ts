/** Files that are there whole or not at all, whoever else writes them, whenever a process dies. */
import { link, mkdir, open, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";

/**
 * Writes a file that is not there yet, and answers whether it was not: for one of many who try that is true. It is written aside, put to disk, and
 * linked to its name; so it needs a file system with hard links. Only its user can read it.
 */
export async function writeNew(path: string, data: string | Uint8Array): Promise<boolean> {
  const folder = dirname(path);
  const made = await mkdir(folder, { recursive: true, mode: 0o700 });
  const aside = join(folder, `.${crypto.randomUUID()}.tmp`);
  try {
    const file = await open(aside, "wx", 0o600);
    try {
      await file.writeFile(data);
      await file.sync();
    } finally {
      await file.close();
    }
    await link(aside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    await unlink(aside).catch(unlessMissing(undefined));
  }
  await syncFolders(folder, made === undefined ? folder : dirname(made));
  return true;
}

/** Answers something instead where a file or folder is not there. */
export function unlessMissing<T>(instead: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === "ENOENT") return instead;
    throw error;
  };
}

/** Puts the names in a folder to disk, and those of the folders above it as far as `top`. */
async function syncFolders(folder: string, top: string): Promise<void> {
  for (let at = folder; ; at = dirname(at)) {
    const handle = await open(at, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (at === top || at === dirname(at)) return;
  }
}
