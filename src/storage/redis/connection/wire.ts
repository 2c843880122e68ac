import { Command, type Redis } from "ioredis";
import type { Arg, Reply } from "./reply.ts";
import { fromSent, isStaleConnection, unavailable } from "./store-error.ts";

/** Time limits are counted in so many ticks: a tick happens only when this process got to its sockets, so its own pauses time nothing out. */
const TICKS = 10;

let lastId = 0;

/**
 * One live connection. It is never re-made: when it fails, every command on it fails, and a new Wire takes its place. So no command is
 * sent twice, and a late reply has no one to be given to.
 */
export class Wire {
  /** Names this connection among all of this process. */
  readonly id: number;
  readonly #redis: Redis;
  readonly #tickMs: number;
  /** How many commands had been sent at each of the last ticks. */
  readonly #sentAtTick: number[] = Array.from({ length: TICKS }, () => 0);
  #tick = 0;
  #sent = 0;
  #answered = 0;
  #answeredAtPing = 0;
  #watchdog: NodeJS.Timeout | undefined;
  #corked = false;
  readonly #ping: NodeJS.Timeout;

  /** A command without reply for `timeoutMs` ends the connection; so does a PING, sent after `pingMs` without replies. */
  constructor(redis: Redis, timeoutMs: number, pingMs: number) {
    this.id = lastId += 1;
    this.#redis = redis;
    this.#tickMs = timeoutMs / TICKS;
    this.#ping = setInterval(() => this.#pingIfQuiet(), pingMs);
    redis.once("close", () => this.#stopTimers());
  }

  /** The ioredis client, for its events. */
  get redis(): Redis {
    return this.#redis;
  }

  /** Whether a command can be written now. */
  get usable(): boolean {
    return this.#redis.status === "ready" && this.#redis.stream.writable;
  }

  /** Writes one command. Rejects as store-error.ts says; never stays pending. */
  send(name: string, args: readonly Arg[]): Promise<Reply> {
    if (!this.usable) return Promise.reject(unavailable(undefined, "none"));
    this.#sent += 1;
    if (this.#watchdog === undefined) this.#watch();
    if (this.#sent - this.#answered > 1) this.#cork();
    // No encoding: replies stay bytes. An uppercase name keeps ioredis from re-shaping replies (its transformers know lowercase ones only).
    const command = new Command(name, writable(args), {}, undefined);
    void this.#redis.sendCommand(command);
    return (command.promise as Promise<Reply>).then(
      (reply) => {
        this.#answered += 1;
        return reply;
      },
      (error: unknown) => {
        this.#answered += 1;
        if (isStaleConnection(error)) this.destroy();
        throw fromSent(error, name);
      },
    );
  }

  /** Sends a command right behind ASKING. */
  ask(name: string, args: readonly Arg[]): Promise<Reply> {
    // What fails it fails the command behind it as well.
    this.send("ASKING", []).catch(() => undefined);
    return this.send(name, args);
  }

  /** Sends several commands in one write. */
  sendAll(calls: readonly (readonly [name: string, args: readonly Arg[]])[]): Promise<Reply>[] {
    this.#cork();
    return calls.map(([name, args]) => this.send(name, args));
  }

  /**
   * What is sent in this round of the event loop leaves in one write. On a connection that is in use, that saves both ends most of their
   * system calls, for replies come in bunches and what follows on them does too; a lone command waits for nothing.
   */
  #cork(): void {
    if (this.#corked) return;
    this.#corked = true;
    const { stream } = this.#redis;
    stream.cork();
    setImmediate(() => {
      this.#corked = false;
      stream.uncork();
    });
  }

  /** Ends the connection at once; all that is unanswered rejects. */
  destroy(): void {
    destroyClient(this.#redis);
  }

  #pingIfQuiet(): void {
    const quiet = this.#answered === this.#answeredAtPing;
    this.#answeredAtPing = this.#answered;
    // A failed PING has ended the connection, and that is what it was for.
    if (quiet) this.send("PING", []).catch(() => undefined);
  }

  #watch(): void {
    this.#sentAtTick.fill(this.#answered);
    this.#watchdog = setInterval(() => {
      const slot = this.#tick % TICKS;
      this.#tick += 1;
      if (this.#answered < (this.#sentAtTick[slot] ?? 0)) {
        this.destroy();
      } else if (this.#answered === this.#sent) {
        this.#stopWatching();
      } else {
        this.#sentAtTick[slot] = this.#sent;
      }
    }, this.#tickMs);
  }

  #stopWatching(): void {
    clearInterval(this.#watchdog);
    this.#watchdog = undefined;
  }

  #stopTimers(): void {
    this.#stopWatching();
    clearInterval(this.#ping);
  }
}

/** Ends an ioredis client for good. Its own `disconnect` waits for the peer, which may be gone. */
export function destroyClient(redis: Redis): void {
  // ioredis's type says that there is always one; before the first connect there is not.
  const stream = redis.stream as Redis["stream"] | undefined;
  if (stream?.destroyed === true) return;
  redis.disconnect();
  stream?.destroy();
}

function writable(args: readonly Arg[]): (string | number | Buffer)[] {
  return args.map((arg) =>
    arg instanceof Uint8Array && !Buffer.isBuffer(arg) ? Buffer.from(arg.buffer, arg.byteOffset, arg.byteLength) : arg,
  );
}
