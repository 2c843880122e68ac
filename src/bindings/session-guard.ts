/** A connection of HTTP/2 under watch: requests that do not come in, connections that nobody uses, frames that only cost. */
import { constants, type ServerHttp2Session, type ServerHttp2Stream, type ServerOptions } from "node:http2";
import type { Socket } from "node:net";
import type { ConnectionBounds } from "./connection-bounds.ts";
import { RST_CANCEL } from "./http-message.ts";

/** PINGs and SETTINGS at a time and per second before a connection is ended: clients that measure the way send some with all that they read. */
const CONTROL_BURST = 5000;
const CONTROL_PER_SECOND = 500;
/** How long the peer of a connection that is over may take to close it. */
const CLOSE_MS = 1000;

/** What node:http2 bounds by itself: streams, resets, memory. Header blocks it ends at 64 kB, 128 fields and 8 CONTINUATION frames. */
export function http2Options({
  streamsPerConnection,
}: ConnectionBounds): ServerOptions & { readonly streamResetBurst: number; readonly streamResetRate: number } {
  return {
    settings: { maxConcurrentStreams: streamsPerConnection, enablePush: false },
    // Resets at a time and per second before a connection is ended: callers who leave reset their streams, and a gateway has many of them.
    streamResetBurst: 10_000,
    streamResetRate: 500,
    // What a connection may hold in all, in MB; beyond it new streams are refused.
    maxSessionMemory: 64,
  };
}

/** Watches a session until its socket closes. */
export function guardSession(session: ServerHttp2Session, socket: Socket, bounds: ConnectionBounds): void {
  const guard = new SessionGuard(session, socket, bounds);
  socket.once("close", () => guard.stop());
}

class SessionGuard {
  readonly #session: ServerHttp2Session;
  readonly #socket: Socket;
  readonly #bounds: ConnectionBounds;
  readonly #timer: NodeJS.Timeout;
  /** Streams whose request may not have come in whole, by their beginning; oldest first. */
  readonly #unproven = new Map<ServerHttp2Stream, number>();
  #streams = 0;
  #quietSince = performance.now();
  #spoke = false;
  #control = CONTROL_BURST;
  #refilledAt = performance.now();

  constructor(session: ServerHttp2Session, socket: Socket, bounds: ConnectionBounds) {
    this.#session = session;
    this.#socket = socket;
    this.#bounds = bounds;
    const { requestMs, quietConnectionMs } = bounds;
    const every = Math.min(requestMs, quietConnectionMs || requestMs) / 4;
    this.#timer = setInterval(() => this.#look(), every).unref();
    session.on("stream", (stream: ServerHttp2Stream) => this.#began(stream));
    session.on("ping", () => this.#spend());
    session.on("remoteSettings", () => {
      this.#spoke = true;
      this.#spend();
    });
    // A session that is over leaves its socket to the peer.
    session.once("close", () => setTimeout(() => socket.destroy(), CLOSE_MS).unref());
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#unproven.clear();
  }

  #began(stream: ServerHttp2Stream): void {
    this.#streams += 1;
    if (!stream.endAfterHeaders) this.#unproven.set(stream, performance.now());
    stream.once("close", () => {
      this.#unproven.delete(stream);
      this.#streams -= 1;
      if (this.#streams === 0) this.#quietSince = performance.now();
    });
  }

  #look(): void {
    const now = performance.now();
    const { requestMs, quietConnectionMs } = this.#bounds;
    for (const [stream, began] of this.#unproven) {
      if (now - began < requestMs) break;
      this.#unproven.delete(stream);
      if (stream.state.remoteClose !== 1) stream.close(RST_CANCEL);
    }
    if (!this.#spoke && now - this.#quietSince >= requestMs) this.#socket.destroy();
    else if (quietConnectionMs > 0 && this.#streams === 0 && now - this.#quietSince >= quietConnectionMs) this.#session.close();
  }

  #spend(): void {
    const now = performance.now();
    this.#control = Math.min(CONTROL_BURST, this.#control + ((now - this.#refilledAt) / 1000) * CONTROL_PER_SECOND) - 1;
    this.#refilledAt = now;
    if (this.#control >= 0) return;
    this.#session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    this.#session.destroy();
    this.#socket.destroySoon();
  }
}
