/** Where what is built for foreign programs is kept. */
import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { ForeignKit } from "./foreign-kit.ts";

/** The folder of a kit, outside of the repository; made where it is not there. */
export function cacheOf({ name }: Pick<ForeignKit, "name">): string {
  const base = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  const folder = join(base, "throughline-interop", name);
  mkdirSync(folder, { recursive: true });
  return folder;
}
