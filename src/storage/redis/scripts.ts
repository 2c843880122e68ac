/** The scripts, one file each; their headers say what they expect and answer. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { READS, WRITES } from "../../core/format.ts";
import type { Script } from "./connection/reply.ts";

function source(name: string): string {
  return readFileSync(new URL(`./scripts/${name}.lua`, import.meta.url), "utf8");
}

// What is stored says in which format: the scripts know by themselves which they write, and which tasks are left to a newer version.
const prelude = `local READS, WRITES = ${READS}, ${WRITES}\n${source("prelude")}`;

function script(name: string): Script {
  const own = source(name);
  // Flags have to stand in the first line.
  const [flags, rest] = own.startsWith("#!") ? [own.slice(0, own.indexOf("\n") + 1), own.slice(own.indexOf("\n") + 1)] : ["", own];
  const text = `${flags}${prelude}\n${rest}`;
  return { name, text, sha: createHash("sha1").update(text).digest("hex") };
}

/** Every script by its name. */
export const SCRIPTS = {
  append: script("append"),
  checkpoint: script("checkpoint"),
  claim: script("claim"),
  command: script("command"),
  confirm: script("confirm"),
  create: script("create"),
  due: script("due"),
  expire: script("expire"),
  heal: script("heal"),
  hold: script("hold"),
  "let-go": script("let-go"),
  probe: script("probe"),
  push: script("push"),
  release: script("release"),
  remove: script("remove"),
  renew: script("renew"),
  report: script("report"),
  spend: script("spend"),
  take: script("take"),
  touch: script("touch"),
  unpush: script("unpush"),
} as const;
