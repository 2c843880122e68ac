/** Programs of this machine. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

/** The first of these programs on PATH, in /usr/bin, in /usr/local/bin or in /usr/sbin. */
export function findProgram(...names: readonly string[]): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter).filter(Boolean), "/usr/bin", "/usr/local/bin", "/usr/sbin"];
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
