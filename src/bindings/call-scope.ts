/** How long a call of a client lasts at most. */
import { Code, ConnectError } from "@connectrpc/connect";

/** Longer timers than Node's would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** One signal for one call: it aborts with the caller's signal, at the deadline, or when the transport is closed. Dispose of it when the call has ended. */
export class CallScope implements Disposable {
  /** When the call ends, in milliseconds since 1970; undefined where nobody said. */
  readonly deadline: number | undefined;
  readonly #abort = new AbortController();
  readonly #parents: readonly AbortSignal[];
  readonly #timer: NodeJS.Timeout | undefined;

  /** `timeoutMs` of 0 or less is no deadline, as for all transports of Connect. */
  constructor(caller: AbortSignal | undefined, transport: AbortSignal, timeoutMs: number | undefined) {
    this.#parents = caller === undefined ? [transport] : [caller, transport];
    for (const parent of this.#parents) {
      if (parent.aborted) this.#abort.abort(parent.reason);
      else parent.addEventListener("abort", this.#follow);
    }
    if (timeoutMs === undefined || timeoutMs <= 0) return;
    this.deadline = Date.now() + timeoutMs;
    if (timeoutMs <= LONGEST_TIMER_MS) this.#timer = setTimeout(() => this.#abort.abort(timedOut()), timeoutMs);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** What a call ends with: why it was aborted, where it was, whatever that made the wire say; with the headers that had come by then. */
  failure(thrown: unknown): ConnectError {
    if (!this.signal.aborted) return ConnectError.from(thrown);
    const { rawMessage, code, details, cause } = ConnectError.from(this.signal.reason, Code.Canceled);
    const received = thrown instanceof ConnectError ? thrown.metadata : undefined;
    return Object.assign(new ConnectError(rawMessage, code, received, undefined, cause), { details });
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    for (const parent of this.#parents) parent.removeEventListener("abort", this.#follow);
  }

  readonly #follow = (event: Event): void => this.#abort.abort((event.target as AbortSignal).reason);
}

function timedOut(): ConnectError {
  return new ConnectError("the operation timed out", Code.DeadlineExceeded);
}

/** What the open calls of a transport end with when it is closed. */
export function transportClosed(): ConnectError {
  return new ConnectError("the transport is closed", Code.Canceled);
}
