/** One client's connection through the proxy, with the connection to the server behind it. */
import { connect, type Socket } from "node:net";
import { TcpPipe } from "./tcp-pipe.ts";

/** How long a side may take to close after we did, before its connection is cut regardless. */
const CLOSE_MS = 1000;

/** A reply to be lost: armed at the proxy, taken by the first connection that sends a matching request. */
export interface ReplyDrop {
  readonly match: (request: Buffer) => boolean;
  readonly isReply: (bytes: Buffer) => boolean;
  readonly happened: () => void;
}

/** The faults that are on; one object for all connections of a proxy. */
export interface Faults {
  delayMs: number;
  swallows: boolean;
  holdsReplies: boolean;
  /** 0: silence is no reason. */
  idleMs: number;
  /** Told of each connection that was ended for its silence. */
  readonly idled: () => void;
  readonly drops: Set<ReplyDrop>;
}

export class ProxiedConnection {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #faults: Faults;
  readonly #requests: TcpPipe;
  readonly #replies: TcpPipe;
  #drop: ReplyDrop | undefined;
  #dropping = false;
  #lostBytes = false;
  #silence: NodeJS.Timeout | undefined;

  constructor(client: Socket, port: number, faults: Faults) {
    this.#client = client;
    this.#server = connect({ port, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
    this.#faults = faults;
    const common = { delayMs: () => faults.delayMs, tellsEnd: () => !this.#swallow() };
    this.#requests = new TcpPipe(client, this.#server, { ...common, held: () => false, admit: (chunk) => this.#admitRequest(chunk) });
    this.#replies = new TcpPipe(this.#server, client, {
      ...common,
      held: () => faults.holdsReplies,
      admit: (chunk) => this.#admitReply(chunk),
    });
    this.#closeTogether(client, this.#server);
    this.#closeTogether(this.#server, client);
    this.watchSilence();
  }

  /** Resolves when both ends are closed. */
  async closed(): Promise<void> {
    await Promise.all([this.#client, this.#server].map(closeOf));
  }

  /** Resets both ends now. */
  cut(): void {
    reset(this.#client);
    reset(this.#server);
  }

  /** Ends both ends now, each after what it was to get; what they still say is lost. */
  finish(): void {
    this.#requests.end();
    this.#replies.end();
    const late = setTimeout(() => this.cut(), CLOSE_MS);
    void this.closed().then(() => clearTimeout(late));
  }

  /** Begins to wait for the next byte, where silence is a reason to end. */
  watchSilence(): void {
    clearTimeout(this.#silence);
    if (this.#faults.idleMs === 0 || this.#client.destroyed) return;
    this.#silence = setTimeout(() => {
      this.#faults.idled();
      this.finish();
    }, this.#faults.idleMs);
  }

  /** After a fault is over: goes on, or is cut where bytes were lost that TCP would have delivered. */
  heal(): void {
    if (this.#lostBytes) this.cut();
    else this.flush();
  }

  /** Writes what a fault held back. */
  flush(): void {
    this.#requests.flush();
    this.#replies.flush();
  }

  #swallow(): boolean {
    if (this.#faults.swallows) this.#lostBytes = true;
    return this.#faults.swallows;
  }

  #admitRequest(chunk: Buffer): boolean {
    this.#silence?.refresh();
    if (this.#swallow()) return false;
    if (this.#drop === undefined) {
      this.#drop = this.#faults.drops.values().find(({ match }) => match(chunk));
      if (this.#drop !== undefined) this.#faults.drops.delete(this.#drop);
    }
    return true;
  }

  #admitReply(chunk: Buffer): boolean {
    this.#silence?.refresh();
    if (this.#swallow()) return false;
    if (this.#drop === undefined) return true;
    if (!this.#dropping && this.#drop.isReply(chunk)) void this.#finishDrop();
    return false;
  }

  /**
   * These bytes may be the reply to an earlier request of a pipeline. A server reads all that was sent before our end of
   * the stream, and carries it out, before it closes in turn: only then is the client cut off.
   */
  async #finishDrop(): Promise<void> {
    this.#dropping = true;
    this.#requests.end();
    const timer = setTimeout(() => this.#server.destroy(), CLOSE_MS);
    await this.closed();
    clearTimeout(timer);
  }

  #closeTogether(one: Socket, other: Socket): void {
    one.on("error", () => {
      // "close" follows and does what is to be done.
    });
    one.once("close", () => {
      clearTimeout(this.#silence);
      this.#silence = undefined;
      // A network that loses everything does not tell the other side either.
      if (!this.#swallow()) reset(other);
      if (one === this.#server) this.#settleDrop();
    });
  }

  #settleDrop(): void {
    this.#drop?.happened();
    this.#drop = undefined;
  }
}

/**
 * Resets a connection. One that still connects would be waited for; one that has been ended would fail to be reset where its other side is
 * quicker, and Node would then keep its handle for ever, and not exit.
 */
function reset(socket: Socket): void {
  if (socket.connecting || socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

/** Resolves when the socket is closed, with an error or without: node's own `once` would reject where an error comes first. */
function closeOf(socket: Socket): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (socket.closed) resolve();
  else socket.once("close", () => resolve());
  return promise;
}
