import { setTimeout as delay } from "node:timers/promises";
import type { Dialed, Info } from "./dial.ts";
import type { Arg, Reply, Script } from "./reply.ts";
import { RedisReplyError, unavailable } from "./store-error.ts";
import type { Wire } from "./wire.ts";

/** What a link reports. */
export interface LinkEvents {
  /** The connection can be used from now on. */
  readonly onUp: (dialed: Dialed) => void;
  /** It stands again after it was lost. */
  readonly onAgain: () => void;
  /** It was lost. */
  readonly onDown?: () => void;
  /** It could not be made; the next attempt follows by itself. */
  readonly onFailure: (error: unknown) => void;
}

const FIRST_DELAY_MS = 20;
const LONGEST_DELAY_MS = 500;
/** A connection that lived shorter than this does not count as a success: else a server that accepts and hangs up is called without pause. */
const SETTLED_MS = 1000;

/** A connection that is kept: lost, it is made again, at once at first, then ever more slowly, for ever. */
export class Link {
  readonly #dial: (signal: AbortSignal) => Promise<Dialed>;
  readonly #events: LinkEvents;
  readonly #closing = new AbortController();
  #wake = new AbortController();
  #wire: Wire | undefined;
  #info: Info | undefined;
  #upSince: number | undefined;
  #lost = false;
  #running: Promise<void> | undefined;

  constructor(dial: (signal: AbortSignal) => Promise<Dialed>, events: LinkEvents) {
    this.#dial = dial;
    this.#events = events;
  }

  /** performance.now() of when this connection was made; undefined while there is none. */
  get upSince(): number | undefined {
    return this.#wire?.usable === true ? this.#upSince : undefined;
  }

  /** The live connection. */
  get wire(): Wire | undefined {
    return this.#wire;
  }

  /** What the server said of itself when the connection was made. */
  get info(): Info | undefined {
    return this.#info;
  }

  /** Begins to keep the connection, with one that was made already if there is one. */
  start(dialed?: Dialed): void {
    if (this.#closing.signal.aborted) dialed?.wire.destroy();
    else this.#running ??= this.#keep(dialed);
  }

  /** Sends one command, behind ASKING where a reply has asked for that; rejects at once where there is no connection. */
  send(name: string, args: readonly Arg[], asking = false): Promise<Reply> {
    if (this.#wire === undefined) return Promise.reject(unavailable(undefined, "none"));
    return asking ? this.#wire.ask(name, args) : this.#wire.send(name, args);
  }

  /** Sends a script by its digest and, where the server does not know it, by its text. */
  script(script: Script, keys: readonly string[], args: readonly Arg[], asking = false): Promise<Reply> {
    return this.send("EVALSHA", [script.sha, keys.length, ...keys, ...args], asking).catch((error: unknown) => {
      if (error instanceof RedisReplyError && error.code === "NOSCRIPT")
        return this.send("EVAL", [script.text, keys.length, ...keys, ...args], asking);
      throw error;
    });
  }

  /** Leaves the connection; a new one is made. */
  drop(): void {
    this.#wire?.destroy();
    this.#wake.abort();
  }

  /** Ends the connection for good. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#wire?.destroy();
    this.#wake.abort();
    await this.#running;
  }

  async #keep(first: Dialed | undefined): Promise<void> {
    const { signal } = this.#closing;
    let attempt = 0;
    let next = first;
    while (!signal.aborted) {
      const dialed = next ?? (await this.#tryDial());
      next = undefined;
      if (dialed !== undefined) {
        const lived = await this.#use(dialed);
        if (lived > SETTLED_MS) attempt = 0;
      }
      await this.#pause(Math.min(FIRST_DELAY_MS * 2 ** attempt, LONGEST_DELAY_MS));
      attempt += 1;
    }
  }

  async #tryDial(): Promise<Dialed | undefined> {
    try {
      return await this.#dial(this.#closing.signal);
    } catch (error) {
      if (!this.#closing.signal.aborted) this.#events.onFailure(error);
      return undefined;
    }
  }

  /** Answers how long the connection lived, in milliseconds. */
  async #use(dialed: Dialed): Promise<number> {
    const since = performance.now();
    if (this.#closing.signal.aborted) {
      dialed.wire.destroy();
      return 0;
    }
    this.#wire = dialed.wire;
    this.#info = dialed.info;
    this.#upSince = since;
    if (this.#lost) this.#events.onAgain();
    this.#events.onUp(dialed);
    await dialed.closed;
    this.#lost = true;
    this.#wire = undefined;
    this.#upSince = undefined;
    this.#events.onDown?.();
    return performance.now() - since;
  }

  async #pause(ms: number): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#wake = new AbortController();
    // Jitter: many replicas lose the same server at the same moment.
    await delay(ms * (0.75 + Math.random() / 2), undefined, { signal: this.#wake.signal }).catch(() => undefined);
  }
}
