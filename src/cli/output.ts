/** Where commands write: what was asked for to stdout, what happens meanwhile to stderr. */
import { styleText } from "node:util";
import type { JsonValue } from "@bufbuild/protobuf";

/** Whether what was written to stdout ends within a line. */
let midLine = false;

/** Writes to stdout. Resolves when it is written; rejects when nobody reads any more. A terminal gets no control characters. */
export async function write(data: string | Uint8Array): Promise<void> {
  const safe = process.stdout.isTTY && typeof data === "string" ? printable(data) : data;
  if (safe.length === 0) return;
  midLine = typeof safe === "string" ? !safe.endsWith("\n") : safe.at(-1) !== 10;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  process.stdout.write(safe, (error) => (error ? reject(error) : resolve()));
  await promise;
}

/** One value on a line of its own. */
export function writeJsonLine(value: JsonValue): Promise<void> {
  return write(`${JSON.stringify(value)}\n`);
}

/** One value, for people who read JSON. */
export function writeJson(value: JsonValue): Promise<void> {
  return write(`${JSON.stringify(value, null, 2)}\n`);
}

/** Says something on stderr, on lines of its own. `dim`: it is on the way, and not what it comes to. */
export function say(text: string, { dim = false }: { readonly dim?: boolean } = {}): void {
  const gap = midLine && process.stdout.isTTY && process.stderr.isTTY ? "\n" : "";
  if (gap !== "") midLine = false;
  const safe = printable(text);
  process.stderr.write(`${gap}${dim ? styleText("dim", safe, { stream: process.stderr }) : safe}\n`);
}

/** Nobody reads what was written to: a pager was left, `head` has enough. */
export function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EPIPE";
}

/** What comes from an agent steers no terminal. */
function printable(text: string): string {
  return text.replace(/[^\P{Cc}\t\n]/gu, "");
}
