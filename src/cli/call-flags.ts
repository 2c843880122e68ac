/** What flags of calls can say, whoever makes the calls: a command, or a front. */
import { InvalidArgumentError } from "commander";
import type { ClientBinding } from "../client/index.ts";

/** The names of the bindings on the command line. */
export const BINDINGS: Readonly<Record<string, ClientBinding>> = {
  grpc: "GRPC",
  rest: "HTTP+JSON",
  "json-rpc": "JSONRPC",
  connect: "CONNECT",
};

/** A header field, for a flag that may stand several times. */
export function header(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const [, name = "", value = ""] = /^([!#$%&'*+.^`|~\w-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*$/.exec(text) ?? [];
  if (name === "") throw new InvalidArgumentError("It must be 'Name: value'.");
  const key = name.toLowerCase();
  return { ...before, [key]: before[key] === undefined ? value : `${before[key]}, ${value}` };
}
