/** Calls to an agent over the first of its interfaces that can be reached: with versions, tenant, credentials, timeouts and retries. */
import { connect } from "node:net";
import { type CallOptions, type Client, Code, ConnectError } from "@connectrpc/connect";
import { type A2AService, type AgentCard, type StreamResponse, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { isTerminal, stateAfter } from "../core/task.ts";
import { A2AError, isTransient, NothingSentError } from "./a2a-error.ts";
import type { CardSource } from "./card-source.ts";
import { isPatienceOver } from "./come-back.ts";
import type { ClientOptions } from "./client-options.ts";
import { A2A_VERSION, addressOf, type Endpoint, endpointsOf, nothingSpoken } from "./interfaces.ts";
import { backoffMs, pause, unlessAborted } from "./pause.ts";
import { LOG_URI } from "./task-view.ts";
import { Line } from "./line.ts";
import { openTransport } from "./open-transport.ts";

type Calls = Client<typeof A2AService>;

/** The first pause between two attempts of a call, and the longest. */
const RETRY = { baseMs: 100, maxMs: 5000 };

/** How long a server may take to end a stream after its last event. */
const END_MS = 1000;

/** What a step of a call is given. */
export interface Step {
  readonly calls: Calls;
  /** To be put into the request. */
  readonly tenant: string;
  readonly options: CallOptions;
}

/** What goes with one call. */
export interface CallInit {
  readonly signal: AbortSignal;
  /** Whether the call may be made again where its reply was lost (CL-15, CL-27). */
  readonly repeatable: boolean;
  /** Default: the client's. `none`: the call waits for the agent. */
  readonly timeoutMs?: number | "none";
  readonly headers?: Readonly<Record<string, string>>;
  /** URIs of extensions to activate beside the client's. */
  readonly extensions?: readonly string[];
}

/** A stream that has begun. */
interface Opened {
  readonly first: IteratorResult<StreamResponse, unknown>;
  readonly frames: AsyncIterator<StreamResponse, unknown>;
  readonly held: Disposable;
}

/** What a call goes out with. */
interface Prepared {
  readonly line: Line;
  readonly held: Disposable;
  readonly options: CallOptions;
}

/** What the user of a run gives along with each of its calls. */
export type CallExtras = Pick<CallInit, "headers" | "extensions">;

/** The connection of one client. */
export class Connection {
  readonly options: ClientOptions;
  readonly #source: CardSource;
  readonly #lines = new Set<Line>();
  #open: Line | undefined;
  #opening: Promise<Line> | undefined;
  /** A call could not be made: the interfaces are looked through again before the next one. */
  #doubtful = false;
  readonly #life = new AbortController();

  constructor(source: CardSource, options: ClientOptions) {
    this.#source = source;
    this.options = options;
  }

  /** The card, fetched or looked after where it is due. */
  card(signal: AbortSignal): Promise<AgentCard> {
    return this.#source.card(signal);
  }

  /** Aborts when the connection is closed. Calls and pauses end with it; a signal of one call does not follow it, which would cost each call more. */
  get life(): AbortSignal {
    return this.#life.signal;
  }

  /** The interface in use; undefined before the first call. */
  get endpoint(): Endpoint | undefined {
    return this.#open?.endpoint;
  }

  /** Makes a call. Throws A2AError; an abort of the caller's signal is thrown as its reason. */
  async call<T>(init: CallInit, step: (step: Step) => Promise<T>): Promise<T> {
    const attempts = init.repeatable ? this.options.attempts : 1;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#authenticated(init, step);
      } catch (thrown) {
        this.#throwIfOver(init.signal);
        const error = A2AError.from(thrown);
        if (!(isTransient(error) || error.unreached) || attempt + 1 >= attempts || isPatienceOver(this.options, error)) throw error;
        await pause(error.retryAfterMs ?? backoffMs(attempt, RETRY), AbortSignal.any([init.signal, this.life]));
      }
    }
  }

  /** Opens a stream when it is read; nothing of it is repeated here. Throws as {@link call}. No generator, as it stands before every frame. */
  stream(
    init: Omit<CallInit, "repeatable" | "timeoutMs">,
    open: (step: Step) => AsyncIterable<StreamResponse>,
  ): AsyncIterableIterator<StreamResponse, undefined> {
    const call: CallInit = { ...init, repeatable: false, timeoutMs: "none" };
    let opened: Opened | undefined;
    const begin = async (): Promise<IteratorResult<StreamResponse, unknown>> => {
      // The first frame tells whether credentials were taken.
      opened = await this.#authenticated(call, async (one, line) => {
        const frames = open(one)[Symbol.asyncIterator]();
        return { first: await frames.next(), frames, held: line.use() };
      });
      return opened.first;
    };
    let last: StreamResponse | undefined;
    let left = false;
    const leave = async (): Promise<IteratorResult<StreamResponse, undefined>> => {
      const leaving = left ? undefined : opened;
      left = true;
      if (last !== undefined && isLast(last)) void (leaving && ended(leaving));
      else {
        leaving?.held[Symbol.dispose]();
        await leaving?.frames.return?.();
      }
      return { done: true, value: undefined };
    };
    return {
      next: async () => {
        try {
          const next = await (opened?.frames.next() ?? begin());
          if (next.done === true) return await leave();
          last = next.value;
          return next;
        } catch (thrown) {
          await leave();
          this.#throwIfOver(init.signal);
          const error = A2AError.from(thrown);
          if (error.code === Code.Unavailable) this.#doubtful = true;
          throw error;
        }
      },
      return: leave,
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  async close(): Promise<void> {
    this.#life.abort(new A2AError(new Error("the client is closed")));
    for (const line of this.#lines) line.close();
    await this.#source.close();
  }

  /** One attempt; where the server refuses the credentials, one more with new ones: it has not carried out what it refused. */
  async #authenticated<T>(init: CallInit, step: (step: Step, line: Line) => Promise<T>): Promise<T> {
    try {
      return await this.#once(init, step, false);
    } catch (thrown) {
      const refused = !init.signal.aborted && A2AError.from(thrown).code === Code.Unauthenticated && this.options.credentials !== undefined;
      if (!refused) throw thrown;
      return this.#once(init, step, true);
    }
  }

  async #once<T>(init: CallInit, step: (step: Step, line: Line) => Promise<T>, refresh: boolean): Promise<T> {
    const { line, held, options } = await this.#prepared(init, refresh).catch((thrown: unknown) => {
      throw new NothingSentError(thrown);
    });
    using _use = held;
    try {
      return await step({ calls: line.calls, tenant: line.endpoint.tenant, options }, line);
    } catch (error) {
      if (A2AError.from(error).code === Code.Unavailable) this.#doubtful = true;
      throw error;
    }
  }

  #throwIfOver(signal: AbortSignal): void {
    signal.throwIfAborted();
    this.life.throwIfAborted();
  }

  /** What a call needs before anything of it is sent. */
  async #prepared({ signal, timeoutMs, headers, extensions }: CallInit, refresh: boolean): Promise<Prepared> {
    const card = await this.card(signal);
    const credentials = await this.options.credentials?.({ refresh, card });
    const all = {
      "a2a-version": A2A_VERSION,
      ...this.#extensions(card, extensions),
      ...this.options.headers,
      ...credentials,
      ...headers,
    };
    const options = { signal, headers: all, ...(timeoutMs !== "none" && { timeoutMs: timeoutMs ?? this.options.timeoutMs }) };
    const line = await this.#opened(signal);
    return { line, held: line.use(), options };
  }

  /** The extensions of ours that the card declares, and those that the user wants. */
  #extensions(card: AgentCard, more: readonly string[] = []): Record<string, string> {
    const declared = card.capabilities?.extensions.some(({ uri }) => uri === LOG_URI) === true ? [LOG_URI] : [];
    const uris = [...new Set([...declared, ...this.options.extensions, ...more])];
    return uris.length === 0 ? {} : { "a2a-extensions": uris.join(", ") };
  }

  /** The interface in use, or the choice of one that all calls wait for together: none of them ends it. */
  #opened(signal: AbortSignal): Promise<Line> {
    this.life.throwIfAborted();
    if (this.#open !== undefined && !this.#doubtful) return Promise.resolve(this.#open);
    this.#opening ??= this.#choose(this.life).finally(() => {
      this.#opening = undefined;
    });
    return unlessAborted(this.#opening, signal);
  }

  /** The first interface that takes a connection, of those whose address is one; the one in use stays where it is still that one. */
  async #choose(signal: AbortSignal): Promise<Line> {
    const card = await this.card(signal);
    const endpoints = endpointsOf(card, this.options.bindings);
    if (endpoints.length === 0) throw new A2AError(new ConnectError(nothingSpoken(card, this.options.bindings), Code.Unimplemented));
    const isSecure = this.#source.isSecure ?? isAllSecure(card);
    // Opening one connects nothing yet.
    const open = (endpoint: Endpoint): Line => new Line(endpoint, openTransport(endpoint, this.options, isSecure));
    const usable = endpoints.length === 1 ? endpoints : endpoints.filter((endpoint) => isAddress(() => open(endpoint).close()));
    let chosen = (usable[0] ?? endpoints[0]) as Endpoint;
    if (usable.length > 1) {
      for (const endpoint of usable) {
        if (!(await isReachable(endpoint, this.options.connectTimeoutMs, signal))) continue;
        chosen = endpoint;
        break;
      }
    }
    signal.throwIfAborted();
    this.#doubtful = false;
    if (this.#open !== undefined && this.#open.endpoint.url === chosen.url && this.#open.endpoint.binding === chosen.binding)
      return this.#open;
    const last = this.#open;
    this.#open = open(chosen);
    this.#lines.add(this.#open);
    // Runs go on over it: another interface is for calls to come.
    last?.retire();
    return this.#open;
  }
}

/** Whether a card that was given names no interface over plain HTTP, and one over HTTPS: its gRPC has TLS too then. */
function isAllSecure({ supportedInterfaces }: AgentCard): boolean {
  const urls = supportedInterfaces.map(({ url }) => url);
  return urls.some((url) => url.startsWith("https:")) && !urls.some((url) => url.startsWith("http:"));
}

/** Whether a transport can be made for an address: its TypeError says that it is none. */
function isAddress(make: () => void): boolean {
  try {
    make();
    return true;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}

/** Whether nothing comes after a frame. */
function isLast(frame: StreamResponse): boolean {
  return frame.payload.case === "message" || isTerminal(stateAfter(frame) ?? TaskState.UNSPECIFIED);
}

/** Lets a stream end that has brought its last event: to break it off would cost both sides more, and HTTP/1.1 its connection. */
async function ended({ frames, held }: Opened): Promise<void> {
  using _held = held;
  const late = setTimeout(() => void frames.return?.(), END_MS).unref();
  try {
    if ((await frames.next()).done !== true) await frames.return?.();
  } catch {
    // All that was wanted has come.
  } finally {
    clearTimeout(late);
  }
}

/** Whether an endpoint takes a connection; one whose address only its transport knows counts as one that does. */
async function isReachable(endpoint: Endpoint, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
  const address = addressOf(endpoint);
  if (address === undefined) return true;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(address, () => resolve(true));
  const abort = (): void => resolve(false);
  socket.setTimeout(timeoutMs, abort).on("error", abort);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await promise;
  } finally {
    signal.removeEventListener("abort", abort);
    socket.destroy();
  }
}
