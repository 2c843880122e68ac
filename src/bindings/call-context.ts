/** Connect's HandlerContext for the bindings that Connect does not serve; what few calls use is made only when asked for. */
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { type ConnectError, type ContextValues, createContextValues, type HandlerContext } from "@connectrpc/connect";
import { certificateKey, peerAddressKey, principalKey, TASK_ID_HEADER } from "../rpc/call-facts.ts";
import { type Binding, type CallObserver, incomingTrace, type ObservedCall, observedKey } from "../rpc/call-observer.ts";
import { callStatus, connectError } from "../rpc/errors.ts";
import { certificateOf } from "./peer-certificate.ts";
import { PlainHeaders } from "./plain-headers.ts";

/** Why a call's signal aborts, made once: an error with its stack costs more than the rest of a small call. */
const OVER: unknown = connectError("CANCELLED", "the call is over");
/** The peer left before its reply was whole. */
export const GONE: unknown = connectError("CANCELLED", "the caller has gone");

/** How long before the caller's deadline a call ends here, so that its error arrives in time: at most this, and at most a tenth. */
const DEADLINE_LEAD_MS = 50;

/** When a call is to end whose caller waits for so long. */
export function endsAfter(timeoutMs: number): number {
  return timeoutMs - Math.min(DEADLINE_LEAD_MS, timeoutMs / 10);
}

/** The service that is called, and who watches its calls. */
interface Called {
  readonly desc: DescService;
  readonly observer: CallObserver | undefined;
}

/** How a call came. */
export interface CallInit {
  readonly service: Called;
  /** Undefined where the body names it: {@link CallContext.begin} is called when it is known. */
  readonly method: DescMethod | undefined;
  readonly protocolName: Binding;
  readonly requestMethod: string;
  readonly url: string;
  /** Name and value of each request header. */
  readonly headers: () => Iterable<readonly [string, string]>;
  /** Milliseconds from now; undefined: no deadline. */
  readonly timeoutMs?: number | undefined;
  /** The connection. */
  readonly socket: Duplex | undefined;
}

/**
 * One call: its headers, and one signal that aborts when its peer leaves, its deadline passes, or it is over. Every binding has one for each call, so
 * that it is here that those who watch calls are told.
 */
export class CallContext implements HandlerContext {
  readonly service: DescService;
  /** Any of the service where it is not known yet. */
  method: DescMethod;
  readonly protocolName: Binding;
  readonly requestMethod: string;
  readonly url: string;
  readonly #init: CallInit;
  readonly #abort = new AbortController();
  readonly #deadline: number | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  #requestHeader: Headers | undefined;
  #responseHeader: PlainHeaders | undefined;
  #responseTrailer: Headers | undefined;
  #values: ContextValues | undefined;
  #observed: ObservedCall | undefined;
  #failure: unknown;
  #ended = false;

  constructor(init: CallInit) {
    this.#init = init;
    this.service = init.service.desc;
    this.method = init.method ?? (init.service.desc.methods[0] as DescMethod);
    this.protocolName = init.protocolName;
    this.requestMethod = init.requestMethod;
    this.url = init.url;
    if (init.socket instanceof TLSSocket) this.values.set(certificateKey, certificateOf(init.socket));
    if (init.method !== undefined) this.begin(init.method);
    if (init.timeoutMs === undefined) return;
    this.#deadline = Date.now() + init.timeoutMs;
    // Longer timers than Node's would fire at once.
    if (init.timeoutMs > 2 ** 31 - 1) return;
    this.#timer = setTimeout(() => this.end(connectError("DEADLINE_EXCEEDED", "the deadline has passed")), Math.max(0, init.timeoutMs));
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  timeoutMs(): number | undefined {
    return this.#deadline === undefined ? undefined : this.#deadline - Date.now();
  }

  get requestHeader(): Headers {
    if (this.#requestHeader !== undefined) return this.#requestHeader;
    const headers = new PlainHeaders();
    for (const [name, value] of this.#init.headers()) headers.append(name, value);
    this.#requestHeader = headers;
    return headers;
  }

  get responseHeader(): Headers {
    return (this.#responseHeader ??= new PlainHeaders());
  }

  get responseTrailer(): Headers {
    return (this.#responseTrailer ??= new PlainHeaders());
  }

  get values(): ContextValues {
    this.#values ??= createContextValues().set(peerAddressKey, () => addressOf(this.#init.socket));
    return this.#values;
  }

  /** The response headers that were set, if any. */
  *responseHeaders(): IterableIterator<[string, string | string[]]> {
    if (this.#responseHeader !== undefined) yield* this.#responseHeader.lines();
  }

  /** The method is known. */
  begin(method: DescMethod): void {
    this.method = method;
    if (this.#init.service.observer !== undefined) this.#observe(method);
  }

  #observe(method: DescMethod | undefined): void {
    const observed = this.#init.service.observer?.began({
      binding: this.protocolName,
      service: this.service.typeName,
      operation: method?.name,
      streams: method?.methodKind === "server_streaming",
      trace: incomingTrace(this.requestHeader),
    });
    this.#observed = observed;
    this.values.set(observedKey, observed);
    const known = this.values.get(principalKey);
    if (known !== undefined) observed?.by(known.name);
  }

  /** The caller is told of this error, the first one counts: what the call ends with for those who watch. */
  failed(error: unknown): void {
    this.#failure ??= error;
  }

  /** Ends the call: the signal aborts with the reason, where it did not end well by itself. Idempotent. */
  end(reason?: unknown): void {
    clearTimeout(this.#timer);
    if (!this.#ended && this.#init.service.observer !== undefined) this.#tell(this.#failure ?? reason);
    this.#ended = true;
    this.#abort.abort(reason ?? OVER);
  }

  #tell(error: unknown): void {
    // Refused before its method was known; without an error it was a batch, whose calls have each their own context.
    if (this.#observed === undefined && this.#failure !== undefined) this.#observe(undefined);
    this.#observed?.ended(callStatus(error));
  }
}

function addressOf(socket: Duplex | undefined): string {
  return (socket instanceof Socket ? socket.remoteAddress : undefined) ?? "";
}

/** What the stream of a reader ends with that took nothing for `stalledStreamMs`, where that can be said. */
export function readerStalled({ responseHeader }: HandlerContext): ConnectError {
  const metadata = { taskId: responseHeader.get(TASK_ID_HEADER) ?? "" };
  return connectError("STREAM_STALLED", "the reader took nothing: subscribe again", { metadata });
}
