/** What all transports do alike: a call from its beginning to its end, whatever wire carries it. */
import { create, type DescMethod, type Message } from "@bufbuild/protobuf";
import { Code, ConnectError, type StreamResponse, type Transport, type UnaryResponse } from "@connectrpc/connect";
import { CallScope, transportClosed } from "./call-scope.ts";
import type { PlainHeaders } from "./plain-headers.ts";
import { requestHeaders } from "./request-headers.ts";
import type { ClosableTransport, TransportOptions } from "./transport.ts";

/** A call as a wire carries it. */
export interface ClientCall {
  readonly method: DescMethod;
  readonly request: Message;
  readonly headers: PlainHeaders;
  /** When the caller stops waiting, in milliseconds since 1970; undefined where it does not. */
  readonly deadline: number | undefined;
  /** Aborts when the call is to be given up; what the wire throws then is of no matter. */
  readonly signal: AbortSignal;
}

/** What comes back. The trailers are complete when the message or the last frame has been read. */
interface Reply {
  readonly header: Headers;
  readonly trailer: Headers;
}

/** The reply of a unary call. */
export interface UnaryReply extends Reply {
  readonly message: Message;
}

/** The frames of a stream. */
export interface Frames extends AsyncIterableIterator<Message, undefined> {
  /** Resolves when nothing more comes, or nobody reads any more. */
  readonly ended: Promise<void>;
  /** The call is to be given up: whoever reads gets the error. */
  abort(error: ConnectError): void;
}

/** The reply of a stream. */
export interface StreamReply extends Reply {
  readonly frames: Frames;
}

/** One way to carry calls. Both reject with a ConnectError. */
export interface Wire {
  unary(call: ClientCall): Promise<UnaryReply>;
  /** Resolves when the server has begun to reply. */
  stream(call: ClientCall): Promise<StreamReply>;
  /** Lets go of the connections. */
  close(): void;
}

/** The transport of a wire. */
export function transportOver(wire: Wire, options: Pick<TransportOptions, "headers">): ClosableTransport {
  const headersOf = requestHeaders(options.headers);
  const closed = new AbortController();

  const unary = async (...[method, signal, timeoutMs, header, input]: Parameters<Transport["unary"]>): Promise<UnaryResponse> => {
    using scope = new CallScope(signal, closed.signal, timeoutMs);
    try {
      scope.signal.throwIfAborted();
      const request = create(method.input, input);
      const call = { method, request, headers: await headersOf(header), deadline: scope.deadline, signal: scope.signal };
      const reply = await wire.unary(call);
      return { stream: false, service: method.parent, method, ...reply };
    } catch (error) {
      throw scope.failure(error);
    }
  };

  const stream = async (...[method, signal, timeoutMs, header, input]: Parameters<Transport["stream"]>): Promise<StreamResponse> => {
    const scope = new CallScope(signal, closed.signal, timeoutMs);
    try {
      scope.signal.throwIfAborted();
      const request = create(method.input, await only(method, input));
      const call = { method, request, headers: await headersOf(header), deadline: scope.deadline, signal: scope.signal };
      const { frames, ...reply } = await wire.stream(call);
      const giveUp = (): void => {
        frames.abort(scope.failure(undefined));
        scope[Symbol.dispose]();
      };
      if (scope.signal.aborted) giveUp();
      scope.signal.addEventListener("abort", giveUp);
      void frames.ended.then(() => scope[Symbol.dispose]());
      return { stream: true, service: method.parent, method, ...reply, message: frames } as unknown as StreamResponse;
    } catch (error) {
      scope[Symbol.dispose]();
      throw scope.failure(error);
    }
  };

  return {
    unary: unary as Transport["unary"],
    stream: ((...call: Parameters<typeof stream>) => {
      const reply = stream(...call);
      // Connect's client awaits it only when the frames are asked for.
      reply.catch(() => undefined);
      return reply;
    }) as Transport["stream"],
    close() {
      closed.abort(transportClosed());
      wire.close();
    },
  };
}

/** The one request of a server stream. */
async function only<T>(method: DescMethod, input: AsyncIterable<T>): Promise<T> {
  if (method.methodKind !== "server_streaming") {
    throw new ConnectError(`${method.toString()}: streams of requests are not carried here`, Code.Unimplemented);
  }
  for await (const request of input) return request;
  throw new ConnectError(`${method.toString()}: there is no request`, Code.InvalidArgument);
}
