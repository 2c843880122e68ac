/** A TCP proxy in front of a server of 127.0.0.1, with faults that a test turns on and off. */
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { freePort } from "./free-port.ts";
import { type Faults, ProxiedConnection, type ReplyDrop } from "./proxied-connection.ts";

export interface DropReplyOptions {
  /**
   * Which request it is about, by one chunk of what the client sends: a request, the first part of a large one, or several that
   * were written together. Default: the next.
   */
  readonly match?: (request: Buffer) => boolean;
  /** Which bytes after it are taken for the reply, where a server says other things too (HTTP/2 settings). Default: the first. */
  readonly isReply?: (bytes: Buffer) => boolean;
}

/** Where a connection goes; asked for each of them. */
interface Target {
  /** Of 127.0.0.1. */
  readonly port: number;
}

export class TcpProxy implements AsyncDisposable {
  /** Where clients connect; stays the same while new connections are refused. */
  readonly port: number;
  #target: Target;
  readonly #connections = new Set<ProxiedConnection>();
  readonly #faults: Faults = {
    delayMs: 0,
    swallows: false,
    holdsReplies: false,
    idleMs: 0,
    idled: () => (this.#idled += 1),
    drops: new Set(),
  };
  readonly #armed = new Map<ReplyDrop, (error: Error) => void>();
  #listener: Server | undefined;
  #droppedReplies = 0;
  #accepted = 0;
  #idled = 0;

  private constructor(port: number, target: Target) {
    this.port = port;
    this.#target = target;
  }

  /** Opens a proxy to a port of 127.0.0.1 on a free port. The server behind it may come and go. */
  static async open(target: Target): Promise<TcpProxy> {
    for (let attempt = 0; ; attempt++) {
      const proxy = new TcpProxy(await freePort(), target);
      try {
        await proxy.accept();
        return proxy;
      } catch (error) {
        // Between looking and listening another process may take the port.
        if (attempt === 5) throw error;
      }
    }
  }

  /** `redis://127.0.0.1:<port>`. */
  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Connections open now. */
  get connections(): number {
    return this.#connections.size;
  }

  /** Connections accepted so far. */
  get accepted(): number {
    return this.#accepted;
  }

  /** How many replies {@link dropNextReply} has swallowed so far. */
  get droppedReplies(): number {
    return this.#droppedReplies;
  }

  /** Connections that {@link idle} has ended so far. */
  get idled(): number {
    return this.#idled;
  }

  /** Resets every connection now. New ones are accepted. */
  cut(): void {
    for (const connection of this.#connections) connection.cut();
  }

  /** Ends every connection now as if both sides were done: after what is on its way, without an error. New ones are accepted. */
  finish(): void {
    for (const connection of this.#connections) connection.finish();
  }

  /** From now on a connection on which nothing is said for so long is ended like that. 0 ends it. */
  idle(ms: number): void {
    this.#faults.idleMs = ms;
    for (const connection of this.#connections) connection.watchSilence();
  }

  /** From now on new connections go there; open ones stay where they are. */
  redirect(target: Target): void {
    this.#target = target;
  }

  /** New connections are refused; open ones stay. */
  refuse(): void {
    this.#listener?.close();
    this.#listener = undefined;
  }

  /** Ends {@link refuse}. Resolves when new connections are accepted. */
  async accept(): Promise<void> {
    if (this.#listener !== undefined) return;
    const listener = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
      this.#accepted += 1;
      const connection = new ProxiedConnection(client, this.#target.port, this.#faults);
      this.#connections.add(connection);
      void connection.closed().finally(() => this.#connections.delete(connection));
    });
    listener.listen(this.port, "127.0.0.1");
    await once(listener, "listening");
    this.#listener = listener;
  }

  /** From now on every chunk arrives this much later, in both directions. 0 ends it. */
  delay(ms: number): void {
    this.#faults.delayMs = ms;
  }

  /** Swallows every byte and every close in both directions; connections stay open, new ones too. Until {@link heal}. */
  halfOpen(): void {
    this.#faults.swallows = true;
  }

  /** Requests arrive, replies wait (1 MiB of them here, the rest with the server). Until {@link resumeReplies}; none is lost. */
  pauseReplies(): void {
    this.#faults.holdsReplies = true;
  }

  /** Ends {@link pauseReplies}. */
  resumeReplies(): void {
    this.#faults.holdsReplies = false;
    for (const connection of this.#connections) connection.flush();
  }

  /**
   * The next matching request reaches the server and is carried out, its reply is swallowed and its connection cut then. Requests
   * sent before it on the same connection may lose their replies too. Resolves when that has happened; rejects when
   * the proxy is healed or closed before.
   */
  dropNextReply({ match = () => true, isReply = () => true }: DropReplyOptions = {}): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const drop: ReplyDrop = {
      match,
      isReply,
      happened: () => {
        this.#armed.delete(drop);
        this.#droppedReplies += 1;
        resolve();
      },
    };
    this.#faults.drops.add(drop);
    this.#armed.set(drop, reject);
    // Who does not wait for it has not asked to hear that it came to nothing.
    promise.catch(() => undefined);
    return promise;
  }

  /** Ends every fault. A connection whose bytes {@link halfOpen} swallowed is reset, as nothing can repair it; others go on. */
  async heal(): Promise<void> {
    Object.assign(this.#faults, { delayMs: 0, swallows: false, holdsReplies: false });
    this.idle(0);
    this.#disarm("healed");
    for (const connection of this.#connections) connection.heal();
    await this.accept();
  }

  #disarm(end: string): void {
    for (const drop of this.#faults.drops) this.#armed.get(drop)?.(new Error(`No matching request before the proxy was ${end}`));
    this.#faults.drops.clear();
  }

  /** Refuses new connections and cuts the open ones. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.refuse();
    this.#faults.swallows = false;
    this.#disarm("closed");
    this.cut();
    await Promise.all([...this.#connections].map(async (connection) => connection.closed()));
  }
}
