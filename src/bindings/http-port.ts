/** One port for HTTP/1.1 and HTTP/2: over TLS a client says which it speaks (ALPN), in clear text the first bytes of a connection tell (RFC 9113, 3.3). */
import type { Server } from "node:http";
import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { CONNECTION_BOUNDS, type ConnectionBounds } from "./connection-bounds.ts";
import { listen, type Listener } from "./http.ts";
import { type Http1Options, http1Server } from "./http1-server.ts";
import { guardSession, http2Options } from "./session-guard.ts";

/** How connections are kept, and how the peers of those of HTTP/2 are found to be gone. */
export interface HttpPortOptions extends Http1Options {
  /** Time between two HTTP/2 PINGs on a connection, and how long an answer may take. */
  readonly keepaliveMs: number;
  readonly keepaliveTimeoutMs: number;
}

/** What an HTTP/2 client says first. */
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

const MiB = 1024 * 1024;
/** Bytes that a client may send ahead of us on a stream, and on all streams of a connection: 64 kB, the default, would be all that it sends in a round trip. */
const STREAM_WINDOW = MiB;
const CONNECTION_WINDOW = 4 * MiB;

/** The servers of both versions behind one port, over one listener; not yet listening. */
export class HttpPort {
  /** It accepts every connection of the port, so that all of them count when it closes. */
  readonly #http1: Server;
  readonly #http2: Http2Server;
  readonly #bounds: ConnectionBounds;
  /** HTTP/2 connections with their sockets: a session that was told to close leaves its socket to the peer, destroyed or not. */
  readonly #sessions = new Map<ServerHttp2Session, Socket>();
  /** Connections that have not yet said what they speak. */
  readonly #undecided = new Set<Socket>();
  /** What carries TLS, from before it stands. */
  readonly #carriers = new Set<Socket>();

  constructor(listener: Listener, options: HttpPortOptions) {
    const { tls, bounds = CONNECTION_BOUNDS } = options;
    this.#bounds = bounds;
    this.#http1 = http1Server(listener, options);
    const own = http2Options(this.#bounds);
    this.#http2 = createHttp2Server({ ...own, settings: { ...own.settings, initialWindowSize: STREAM_WINDOW } }, listener);
    this.#http1.maxConnections = this.#bounds.connections;
    if (tls !== undefined) this.#http1.on("connection", (socket: Socket) => this.#keep(socket));
    const arrival = tls === undefined ? "connection" : "secureConnection";
    const [http1] = this.#http1.listeners(arrival).slice(0, 1);
    if (http1 === undefined) throw new TypeError("this version of node:http takes its connections another way");
    this.#http1.off(arrival, http1 as () => void).on(arrival, (socket: Socket | TLSSocket) => {
      const hand = (version: 1 | 2): void => {
        if (version === 2) this.#begin(socket, options);
        else Reflect.apply(http1, this.#http1, [socket]);
      };
      if ("alpnProtocol" in socket) hand(socket.alpnProtocol === "h2" ? 2 : 1);
      else this.#decide(socket, hand);
    });
  }

  /** Listens; answers the port. */
  listen(port: number, host: string): Promise<number> {
    return listen(this.#http1, port, host);
  }

  /** Takes no more connections and no more streams (GOAWAY), closes what is idle; resolves when the last connection is gone. */
  close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#http1.close(() => resolve());
    this.closeIdleConnections();
    return promise;
  }

  /** Closes connections on which nothing is under way. Call it again while a port closes: node:http looks only once. */
  closeIdleConnections(): void {
    this.#http1.closeIdleConnections();
    for (const socket of this.#undecided) socket.destroy();
    for (const session of this.#sessions.keys()) session.close();
  }

  /** Closes all connections, whatever is under way. */
  closeAllConnections(): void {
    this.#http1.closeAllConnections();
    for (const socket of this.#undecided) socket.destroy();
    for (const socket of this.#sessions.values()) socket.destroy();
    for (const socket of this.#carriers) socket.destroy();
  }

  #keep(socket: Socket): void {
    this.#carriers.add(socket);
    socket.once("close", () => this.#carriers.delete(socket));
  }

  /** Reads the first bytes until they differ from the preface or are all of it, puts them back, and hands the connection on. */
  #decide(socket: Socket, hand: (version: 1 | 2) => void): void {
    let seen = Buffer.alloc(0);
    const look = (): void => {
      const chunk = socket.read() as Buffer | null;
      if (chunk === null) return;
      seen = Buffer.concat([seen, chunk]);
      const length = Math.min(seen.length, PREFACE.length);
      const alike = seen.subarray(0, length).equals(PREFACE.subarray(0, length));
      if (alike && length < PREFACE.length) return;
      leave();
      socket.unshift(seen);
      hand(alike ? 2 : 1);
    };
    const drop = (): void => void socket.destroy();
    const late = setTimeout(drop, this.#bounds.requestMs);
    const leave = (): void => {
      clearTimeout(late);
      this.#undecided.delete(socket);
      socket.off("readable", look).off("end", drop).off("error", drop).off("close", leave);
    };
    this.#undecided.add(socket);
    socket.on("readable", look).on("end", drop).on("error", drop).on("close", leave);
  }

  #begin(socket: Socket, options: HttpPortOptions): void {
    this.#http2.once("session", (session) => {
      this.#sessions.set(session, socket);
      session.setLocalWindowSize(CONNECTION_WINDOW);
      guardSession(session, socket, this.#bounds);
      const stop = ping(session, options);
      socket.once("close", () => {
        this.#sessions.delete(session);
        stop();
      });
    });
    // The sockets of node:http stay half open; one whose peer has ended its side would stay so until the next PING.
    socket.allowHalfOpen = false;
    this.#http2.emit("connection", socket);
  }
}

/** Sends PINGs, one at a time, and closes the connection of a peer that leaves one without an answer. Answers how to stop. */
function ping(session: ServerHttp2Session, { keepaliveMs, keepaliveTimeoutMs }: HttpPortOptions): () => void {
  let late: NodeJS.Timeout | undefined;
  const timer = setInterval(() => {
    if (late !== undefined || session.closed) return;
    late = setTimeout(() => session.destroy(), keepaliveTimeoutMs).unref();
    session.ping(() => {
      clearTimeout(late);
      late = undefined;
    });
  }, keepaliveMs).unref();
  return () => {
    clearInterval(timer);
    clearTimeout(late);
  };
}
