/** Variables of the environment that look like options and are none: a misspelt one would else do nothing in silence. */
import type { Command } from "commander";
import { knownOptions } from "./read-options.ts";

/** What the commands that call an agent follow; a shell that calls may serve too. */
const OF_CALLERS: ReadonlySet<string> = new Set(["AGENT", "TOKEN", "RECORDS", "CTRL_C_MS"].map((name) => `THROUGHLINE_${name}`));
/** What Kubernetes sets for a Service whose name begins so. */
const SERVICE_LINK = /_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP|SCTP)(_|$)/;

/** The names that begin with `THROUGHLINE_` and are neither options nor flags of the command, in order. */
export function strayVariables(environment: NodeJS.ProcessEnv, command: Command): string[] {
  const known = new Set([...knownOptions().map(({ variable }) => variable), ...command.options.map(({ envVar }) => envVar ?? "")]);
  return Object.entries(environment)
    .filter(([name, value]) => name.startsWith("THROUGHLINE_") && !known.has(name) && !OF_CALLERS.has(name) && !isServiceLink(name, value))
    .map(([name]) => name)
    .toSorted();
}

function isServiceLink(name: string, value = ""): boolean {
  return SERVICE_LINK.test(name) || (name.endsWith("_PORT") && /^(tcp|udp|sctp):\/\//.test(value));
}
