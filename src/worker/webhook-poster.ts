/** POSTs notifications: bounded in time, in number, and in what it reads of the answer. */
import { Agent, type buildConnector, request } from "undici";
import { pause } from "../core/pause.ts";
import { Turns } from "../core/turns.ts";
import { OneATurn } from "./one-a-turn.ts";
import { TurnsByKey } from "./turns-by-key.ts";
import { WebhookRefused } from "./webhook-guard/webhook-refused.ts";
import type { WebhookRequest } from "./webhook-request.ts";

/** How notifications are posted. */
export interface PosterOptions {
  /** How long one may take, from the connection to the answer's header. */
  readonly timeoutMs: number;
  /** Requests at once to one host. */
  readonly perHost: number;
  /** Requests at once for the webhooks of one owner. */
  readonly perOwner: number;
  /** Requests at once from this replica. */
  readonly concurrency: number;
  /** Makes connections, and judges where they go. */
  readonly connect: buildConnector.connector;
}

/**
 * What became of one. `delivered`: acknowledged. `retry`: the same may succeed later, after `afterMs` if the receiver said so. `refused`: it
 * never will as it is. `gone`: the receiver wants no more. `withheld`: it was not sent.
 */
export type Posted =
  | { readonly is: "delivered" }
  | { readonly is: "retry"; readonly cause: string; readonly afterMs: number | undefined }
  | { readonly is: "refused"; readonly cause: string }
  | { readonly is: "gone" }
  | { readonly is: "withheld" };

/** Where to, and for whom. */
export interface Target {
  readonly hostname: string;
  /** Whose task it is about. */
  readonly owner: string;
}

/** Statuses of the 4xx class that say nothing about the request itself. */
const TRANSIENT: ReadonlySet<number> = new Set([408, 425, 429]);
const GONE = 410;
/** A receiver may ask for this much patience at most. */
const MAX_RETRY_AFTER_MS = 3_600_000;
/** How long an idle connection is kept. */
const KEEP_ALIVE_MS = 4000;
/** How long an answer's body may take, and how long it may be: nobody reads it, but a connection can be used again after it. */
const BODY_MS = 1000;
const BODY_BYTES = 64 * 1024;
/** How long the host keeps its place after that: each time has cost a connection, and all that came over it before it was cut. */
const CUT_OFF_MS = 100;
/** Answers that only announce another one (RFC 9110, 15.2). Without a bound they come as fast as the network brings them, until time is up. */
const MAX_INTERIM = 10;

const TOO_MANY_INTERIM = Object.assign(new Error(`more than ${MAX_INTERIM} interim answers`), { code: "TOO_MANY_INTERIM_ANSWERS" });

/** Posts for one replica. */
export class WebhookPoster {
  readonly #options: PosterOptions;
  readonly #agent: Agent;
  readonly #hosts: TurnsByKey;
  readonly #owners: TurnsByKey;
  readonly #all: Turns;
  readonly #paced = new OneATurn();

  constructor(options: PosterOptions) {
    const { timeoutMs, perHost, connect } = options;
    this.#options = options;
    this.#hosts = new TurnsByKey(perHost);
    this.#owners = new TurnsByKey(options.perOwner);
    this.#all = new Turns(options.concurrency);
    this.#agent = new Agent({
      connect,
      allowH2: false,
      connections: perHost,
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      maxHeaderSize: 16 * 1024,
    });
  }

  /**
   * Posts to a host when it is its turn and its owner's, unless the signal comes first. `make` is asked for the request then, so that it says
   * what holds then; it answers undefined where there is nothing to be sent any more. Rejects only as `make` does.
   */
  async post({ hostname, owner }: Target, signal: AbortSignal, make: () => Promise<WebhookRequest | undefined>): Promise<Posted> {
    // The host's turn first, then the owner's: those who wait for a slow one must not hold places that others could use.
    using host = await this.#hosts.turn(hostname, signal).catch(() => undefined);
    using own = host && (await this.#owners.turn(owner, signal).catch(() => undefined));
    using place = own && (await this.#all.turn(signal).catch(() => undefined));
    if (place === undefined) return { is: "withheld" };
    // An event that has come for many webhooks has come for streams too, and these go first.
    await this.#paced.wait();
    const made = await make();
    return made === undefined ? { is: "withheld" } : await this.#post(made, signal);
  }

  async #post({ url, headers, body }: WebhookRequest, signal: AbortSignal): Promise<Posted> {
    const timeout = AbortSignal.timeout(this.#options.timeoutMs);
    const babble = new AbortController();
    let interim = 0;
    try {
      const reply = await request(url, {
        method: "POST",
        headers,
        body,
        dispatcher: this.#agent,
        signal: AbortSignal.any([signal, timeout, babble.signal]),
        onInfo: () => void ((interim += 1) > MAX_INTERIM && babble.abort(TOO_MANY_INTERIM)),
      });
      // A connection counts until its answer is read: what comes slowly or without end is cut off, and changes nothing of the answer.
      const late = AbortSignal.any([signal, AbortSignal.timeout(BODY_MS)]);
      await reply.body.dump({ limit: BODY_BYTES, signal: late }).catch(() => undefined);
      if (!reply.body.readableEnded) await pause(CUT_OFF_MS, signal);
      return judge(reply.statusCode, reply.headers["retry-after"]);
    } catch (error) {
      return failed(error, timeout.aborted);
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

function judge(status: number, retryAfter: string | string[] | undefined): Posted {
  if (status >= 200 && status < 300) return { is: "delivered" };
  if (status === GONE) return { is: "gone" };
  const cause = `it answered HTTP ${status}`;
  if (status >= 500 || TRANSIENT.has(status)) return { is: "retry", cause, afterMs: retryAfterMs(retryAfter) };
  if (status >= 300 && status < 400) return { is: "refused", cause: `${cause}, and redirects are not followed` };
  return { is: "refused", cause };
}

function failed(error: unknown, timedOut: boolean): Posted {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof WebhookRefused) return { is: "refused", cause: cause.message };
  }
  if (timedOut) return { is: "retry", cause: "it did not answer in time", afterMs: undefined };
  const code = error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.name) : "Error";
  return { is: "retry", cause: `it could not be reached (${code})`, afterMs: undefined };
}

/** Seconds, or a date (RFC 9110, 10.2.3). */
function retryAfterMs(given: string | string[] | undefined): number | undefined {
  const value = typeof given === "string" ? given : given?.[0];
  if (value === undefined) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return ms > 0 ? Math.min(ms, MAX_RETRY_AFTER_MS) : undefined;
}
