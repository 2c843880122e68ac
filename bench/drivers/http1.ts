/**
 * Keep-alive connections of HTTP/1.1. Spoken directly on sockets, for node:http spends more CPU on an answer than a server that has it
 * ready, and would be the limit of what is measured.
 */
import { connect, type Socket } from "node:net";
import { Answer } from "./answer.ts";
import type { CallInit, Connections } from "./connections.ts";
import { VERSION_HEADER } from "./driver.ts";
import { HttpParser } from "./http-parser.ts";
import { StreamCall } from "./stream-call.ts";

/** Connections to the host of `base`, as many as there are calls at once. */
export function http1Connections(base: string): Connections {
  const url = new URL(base);
  const prefix = url.pathname.replace(/\/$/u, "");
  const all = new Set<Connection>();
  const free: Connection[] = [];

  const take = (): Connection => {
    const kept = free.pop();
    if (kept !== undefined) return kept;
    const opened = new Connection(
      url,
      () => free.push(opened),
      () => drop(opened),
    );
    all.add(opened);
    return opened;
  };

  const drop = (connection: Connection): void => {
    all.delete(connection);
    const index = free.indexOf(connection);
    if (index !== -1) free.splice(index, 1);
  };

  return {
    call: (init, format, watch) => {
      const connection = take();
      const call = new StreamCall(() => connection.destroy(), watch);
      connection.request(encode(url.host, prefix, init), new Answer(call, format));
      return call;
    },
    close: () => {
      for (const connection of all) connection.destroy();
    },
  };
}

/** One connection: a request at a time. */
class Connection {
  readonly #socket: Socket;
  #answer: Answer | undefined;

  constructor(url: URL, onFree: () => void, onClose: () => void) {
    const parser = new HttpParser(() => ({
      head: (status, contentType) => this.#answer?.head(status, contentType),
      body: (bytes) => this.#answer?.body(bytes),
      end: (reusable) => {
        const answer = this.#answer;
        this.#answer = undefined;
        if (reusable) onFree();
        else this.destroy();
        answer?.end({});
      },
    }));
    this.#socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true });
    this.#socket.on("data", (chunk: Buffer) => {
      try {
        parser.feed(chunk);
      } catch (error) {
        this.#fail(error instanceof Error ? error : new Error(String(error)));
      }
    });
    this.#socket.on("error", (error) => this.#fail(error));
    this.#socket.once("close", () => {
      onClose();
      this.#fail(new Error("the connection was closed before the end of the answer"));
    });
  }

  request(bytes: string | Uint8Array, answer: Answer): void {
    this.#answer = answer;
    this.#socket.write(bytes);
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #fail(error: Error): void {
    const answer = this.#answer;
    this.#answer = undefined;
    answer?.fail(error);
    this.destroy();
  }
}

function encode(host: string, prefix: string, { method, path, headers, body = "" }: CallInit): string | Uint8Array {
  const sent: Record<string, string> = { host, ...VERSION_HEADER, ...headers };
  if (method === "POST") sent["content-length"] = String(typeof body === "string" ? Buffer.byteLength(body) : body.length);
  let head = `${method} ${`${prefix}${path}` || "/"} HTTP/1.1\r\n`;
  for (const name in sent) head += `${name}: ${sent[name]}\r\n`;
  head += "\r\n";
  return typeof body === "string" ? head + body : Buffer.concat([Buffer.from(head), body]);
}
