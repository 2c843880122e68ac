/**
 * What the two HTTP bindings share: keep-alive connections, whole answers, and streams of server-sent events. Spoken directly on
 * sockets, for node:http spends more CPU on an answer than a server that has it ready, and would be the limit of what is measured.
 */
import { connect, type Socket } from "node:net";
import { VERSION_HEADER } from "./driver.ts";
import { type AnswerSink, HttpParser } from "./http-parser.ts";
import { sseReader } from "./sse.ts";
import { StreamCall, type Watch } from "./stream-call.ts";

/** A request to make. */
export interface HttpRequest {
  readonly method: "GET" | "POST";
  /** Appended to the path of the base URL. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A set of connections. */
export interface HttpConnections {
  /** A stream of server-sent events; any other answer is its error. */
  readonly stream: (init: HttpRequest, watch?: Watch) => StreamCall;
  /** The body of an answer with status 200; rejects on any other. */
  readonly fetch: (init: HttpRequest) => Promise<Buffer>;
  readonly close: () => void;
}

/** Waits for an answer, or for the end of the connection without one. */
interface Receiver extends AnswerSink {
  fail(error: Error): void;
}

/** Connections to the host of `base`, as many as there are calls at once. */
export function httpConnections(base: string): HttpConnections {
  const url = new URL(base);
  const prefix = url.pathname.replace(/\/$/u, "");
  const all = new Set<Connection>();
  const free: Connection[] = [];

  const begin = (init: HttpRequest, receiver: Receiver): Connection => {
    let connection = free.pop();
    if (connection === undefined) {
      const opened = new Connection(
        url,
        () => free.push(opened),
        () => drop(opened),
      );
      all.add(opened);
      connection = opened;
    }
    connection.request(encode(url.host, prefix, init), receiver);
    return connection;
  };

  const drop = (connection: Connection): void => {
    all.delete(connection);
    const index = free.indexOf(connection);
    if (index !== -1) free.splice(index, 1);
  };

  return {
    stream: (init, watch) => {
      const call: StreamCall = new StreamCall(() => connection.destroy(), watch);
      const connection = begin(init, eventReceiver(call));
      return call;
    },
    fetch: (init) => {
      const reply = Promise.withResolvers<Buffer>();
      begin(init, wholeReceiver(reply));
      return reply.promise;
    },
    close: () => {
      for (const connection of all) connection.destroy();
    },
  };
}

/** One connection: a request at a time. */
class Connection {
  readonly #socket: Socket;
  #receiver: Receiver | undefined;

  constructor(url: URL, onFree: () => void, onClose: () => void) {
    const parser = new HttpParser(() => ({
      head: (status, contentType) => this.#receiver?.head(status, contentType),
      body: (bytes) => this.#receiver?.body(bytes),
      end: (reusable) => {
        const receiver = this.#receiver;
        this.#receiver = undefined;
        if (reusable) onFree();
        else this.destroy();
        receiver?.end(reusable);
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

  request(bytes: string, receiver: Receiver): void {
    this.#receiver = receiver;
    this.#socket.write(bytes);
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #fail(error: Error): void {
    const receiver = this.#receiver;
    this.#receiver = undefined;
    receiver?.fail(error);
    this.destroy();
  }
}

function encode(host: string, prefix: string, { method, path, headers, body = "" }: HttpRequest): string {
  const sent: Record<string, string> = { host, ...VERSION_HEADER, ...headers };
  if (method === "POST") sent["content-length"] = String(Buffer.byteLength(body));
  let lines = `${method} ${`${prefix}${path}` || "/"} HTTP/1.1\r\n`;
  for (const name in sent) lines += `${name}: ${sent[name]}\r\n`;
  return `${lines}\r\n${body}`;
}

function wholeReceiver(reply: PromiseWithResolvers<Buffer>): Receiver {
  const chunks: Buffer[] = [];
  let status = 0;
  return {
    head: (code) => {
      status = code;
    },
    body: (bytes) => chunks.push(bytes),
    end: () => {
      const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
      if (status === 200) reply.resolve(body);
      else reply.reject(new Error(`HTTP ${status}: ${body.toString()}`));
    },
    fail: reply.reject,
  };
}

function eventReceiver(call: StreamCall): Receiver {
  const refusal: Buffer[] = [];
  let feed: ((bytes: Buffer) => void) | undefined;
  let status = 0;
  return {
    head: (code, contentType) => {
      status = code;
      if (code !== 200 || !contentType.startsWith("text/event-stream")) return;
      feed = sseReader(
        (chunk, from, to) => call.frame(chunk, from, to),
        (line) => call.finish(new Error(`the stream says ${line}`)),
      );
    },
    body: (bytes) => {
      if (feed === undefined) refusal.push(bytes);
      else feed(bytes);
    },
    end: () => call.finish(feed === undefined ? new Error(`HTTP ${status}: ${Buffer.concat(refusal).toString()}`) : undefined),
    fail: (error) => call.finish(error),
  };
}
