/** HTTP/1.1 by hand: bytes go out as they are, and all that comes back is kept. */
import assert from "node:assert/strict";
import { connect } from "node:net";

/** Longest that a connection may take to be closed. */
const CLOSED_MS = 20_000;

/** Sends bytes and reads until the server closes; `end` says that nothing more comes. Its replies as they came, `latin1`. */
export function exchange(port: number, bytes: string | Uint8Array, { end = false } = {}): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  const chunks: Buffer[] = [];
  const late = setTimeout(() => reject(new Error(`not closed: ${Buffer.concat(chunks).toString("latin1")}`)), CLOSED_MS);
  socket.on("data", (chunk) => chunks.push(chunk)).on("end", () => socket.end());
  // A server may reset what it does not want to read.
  socket.on("error", (error: NodeJS.ErrnoException) => assert.ok(["ECONNRESET", "EPIPE"].includes(error.code ?? ""), error));
  socket.on("close", () => resolve(Buffer.concat(chunks).toString("latin1")));
  socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes);
  if (end) socket.end();
  return promise.finally(() => {
    clearTimeout(late);
    socket.destroy();
  });
}

/** The head of a request that asks for its connection to be closed. */
export function head(line: string, headers: Readonly<Record<string, string>> = {}): string {
  const all = { host: "h", connection: "close", "a2a-version": "1.0", ...headers };
  return `${[`${line} HTTP/1.1`, ...Object.entries(all).map(([name, value]) => `${name}: ${value}`)].join("\r\n")}\r\n\r\n`;
}

/** A request with a body whose length is said. */
export function posted(target: string, body: string | Uint8Array, headers: Readonly<Record<string, string>> = {}): Buffer {
  const bytes = Buffer.from(body as string);
  const own = { "content-type": "application/json", "content-length": String(bytes.length), ...headers };
  return Buffer.concat([Buffer.from(head(`POST ${target}`, own), "latin1"), bytes]);
}

/** Status, head and body of a reply. */
export interface RawReply {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Reads the one reply of an exchange. */
export function replyOf(received: string): RawReply {
  const at = received.indexOf("\r\n\r\n");
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(received)?.[1] ?? assert.fail(`no reply: ${JSON.stringify(received)}`);
  return { status: Number(status), head: received.slice(0, at), body: received.slice(at + 4) };
}
