import { createHash } from "node:crypto";
import type { Script } from "../../src/storage/redis/connection/connections.ts";

/** A script by its text. */
export function scriptOf(name: string, text: string): Script {
  return { name, text, sha: createHash("sha1").update(text).digest("hex") };
}
