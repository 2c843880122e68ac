/** gRPC's client end, on grpc-js: any method by its descriptor. */
import { type DescMethod, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type CallOptions,
  type ChannelOptions,
  Client,
  connectivityState,
  type Metadata,
  type ServiceError,
  type StatusObject,
} from "@grpc/grpc-js";
import { unreachedError } from "../../rpc/client-errors.ts";
import { type ClientCall, type StreamReply, transportOver, type UnaryReply, type Wire } from "../client-call.ts";
import { asBuffer } from "../envelope.ts";
import { Incoming } from "../incoming.ts";
import { PlainHeaders } from "../plain-headers.ts";
import { type ClosableTransport, type ResolvedOptions, resolveTransportOptions, type TransportOptions } from "../transport.ts";
import { channelCredentials } from "./credentials.ts";
import { addMetadata, metadataOf } from "./metadata.ts";
import { polled } from "./polling-resolver.ts";
import { statusError } from "./status-error.ts";
import { type GrpcTarget, parseGrpcTarget } from "./target.ts";

/** What the gRPC transport takes. */
export interface GrpcTransportOptions extends TransportOptions {
  /**
   * `host:port`, `http://` or `https://` with a host, `unix:/path`, or `dns:///host:port`, whose addresses share the calls one after the
   * other, those that are added later too (C-48).
   */
  readonly url: string;
  /** Whether to go without TLS. Default: as the URL's scheme says, and TLS where it has none. */
  readonly plaintext?: boolean | undefined;
  /**
   * Bytes that the server may send on one stream before they are read. HTTP/2's own 64 kB allow 1.3 MB/s at 50 ms round trip. Default
   * 1 MiB.
   */
  readonly windowBytes?: number | undefined;
  /**
   * How long a connection may carry calls before it is pinged, and again after each answer: without, one that is half open is never
   * noticed. Many servers take one ping in five minutes; one that finds this too often closes the connection, its streams with it, and is
   * pinged half as often from then on. Default 60 s.
   */
  readonly keepaliveMs?: number | undefined;
  /** How long an answer to a ping may take before the connection counts as lost. Default 10 s. */
  readonly keepaliveTimeoutMs?: number | undefined;
  /** Time between two looks at which addresses a `dns:` name has. Default 10 s. */
  readonly resolveMs?: number | undefined;
}

/** Connects to a gRPC server when the first call is made. Throws a TypeError for an address that is none. */
export function createGrpcTransport(options: GrpcTransportOptions): ClosableTransport {
  const resolved = resolveTransportOptions(options);
  return transportOver(new GrpcWire(resolved), resolved);
}

const RESOLVE_MS = 10_000;
/** While a server is away callers come back sooner than grpc-js would, which waits up to two minutes. */
const RECONNECT_MS = { initial: 250, max: 5000 } as const;

class GrpcWire implements Wire {
  readonly #client: Client;
  readonly #url: string;
  readonly #connectTimeoutMs: number;

  constructor(options: ResolvedOptions<GrpcTransportOptions>) {
    const target = parseGrpcTarget(options.url, options.plaintext);
    const { target: address, options: resolving } = target.balanced
      ? polled(target.address, options.resolveMs ?? RESOLVE_MS)
      : { target: target.address, options: {} };
    const all = { ...channelOptions(target, options), ...resolving };
    this.#client = new Client(address, channelCredentials(target.plaintext, options), all);
    this.#url = options.url;
    this.#connectTimeoutMs = options.connectTimeoutMs;
  }

  async unary({ method, request, headers, deadline, signal }: ClientCall): Promise<UnaryReply> {
    const [header, trailer] = [new PlainHeaders(), new PlainHeaders()];
    const reply = Promise.withResolvers<Buffer>();
    let bytes: Buffer | undefined;
    const call = this.#client.makeUnaryRequest(
      pathOf(method),
      asBuffer,
      identity,
      toBinary(method.input, request),
      metadataOf(headers),
      callOptions(deadline),
      (_: ServiceError | null, received?: Buffer) => (bytes = received),
    );
    call.on("metadata", (metadata: Metadata) => addMetadata(header, metadata));
    // The status comes after the callback, and has the trailers where the call succeeded too.
    call.on("status", (status: StatusObject) => {
      addMetadata(trailer, status.metadata);
      if (bytes === undefined) reply.reject(statusError(status, header));
      else reply.resolve(bytes);
    });
    using _abort = onAbort(signal, () => cancel(call));
    using _connecting = this.#limitConnecting((error) => {
      reply.reject(error);
      call.cancel();
    });
    return { header, trailer, message: decode(method, await reply.promise) };
  }

  async stream({ method, request, headers, deadline, signal }: ClientCall): Promise<StreamReply> {
    const [header, trailer] = [new PlainHeaders(), new PlainHeaders()];
    const begun = Promise.withResolvers<void>();
    const call = this.#client.makeServerStreamRequest(
      pathOf(method),
      asBuffer,
      identity,
      toBinary(method.input, request),
      metadataOf(headers),
      callOptions(deadline),
    );
    const frames = new Incoming<Buffer, Message>(
      { pause: () => call.pause(), resume: () => call.resume(), cancel: () => call.cancel() },
      (bytes) => decode(method, bytes),
    );
    let failure: ConnectError | undefined;
    call.on("metadata", (metadata: Metadata) => {
      addMetadata(header, metadata);
      begun.resolve();
    });
    call.on("data", (bytes: Buffer) => frames.push(bytes));
    call.on("status", ({ metadata }: StatusObject) => addMetadata(trailer, metadata));
    call.on("error", (error: ServiceError) => {
      failure = statusError(error, header);
      begun.reject(failure);
    });
    // An error overtakes what is buffered, which is still to be read. Messages that grpc-js had not handed out by then it drops: what is
    // read is what was sent first.
    call.on("end", () => {
      begun.resolve();
      frames.end(failure === undefined ? "clean" : { error: failure });
    });
    using _abort = onAbort(signal, () => cancel(call));
    using _connecting = this.#limitConnecting((error) => {
      begun.reject(error);
      call.cancel();
    });
    await begun.promise;
    return { header, trailer, frames };
  }

  close(): void {
    this.#client.close();
  }

  /** grpc-js gives a connection all the time that a call has. */
  #limitConnecting(giveUp: (error: ConnectError) => void): Disposable | undefined {
    const channel = this.#client.getChannel();
    if (channel.getConnectivityState(false) === connectivityState.READY) return undefined;
    const timer = setTimeout(() => {
      if (channel.getConnectivityState(false) === connectivityState.READY) return;
      giveUp(unreachedError(`no connection to ${this.#url} within ${this.#connectTimeoutMs} ms`));
    }, this.#connectTimeoutMs);
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  }
}

/** Replies pass grpc-js as they are: what cannot be read shall be an error of ours. */
function identity(bytes: Buffer): Buffer {
  return bytes;
}

function decode(method: DescMethod, bytes: Buffer): Message {
  try {
    return fromBinary(method.output, bytes);
  } catch (cause) {
    throw new ConnectError(`what came is no ${method.output.typeName}`, Code.Internal, undefined, undefined, cause);
  }
}

function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function callOptions(deadline: number | undefined): CallOptions {
  return deadline === undefined ? {} : { deadline };
}

function onAbort(signal: AbortSignal, listener: () => void): Disposable {
  if (signal.aborted) listener();
  else signal.addEventListener("abort", listener);
  return { [Symbol.dispose]: () => signal.removeEventListener("abort", listener) };
}

/**
 * Cancels a call, once it has begun. grpc-js begins it some microtasks after it was made, whether or not it was canceled meanwhile: the
 * server would never hear of it.
 */
function cancel(call: { readonly cancel: () => void }): void {
  setImmediate(() => call.cancel());
}

function channelOptions({ balanced }: GrpcTarget, options: ResolvedOptions<GrpcTransportOptions>): ChannelOptions {
  return {
    "grpc.max_receive_message_length": options.maxMessageBytes,
    "grpc.max_send_message_length": -1,
    "grpc-node.flow_control_window": options.windowBytes ?? 1024 * 1024,
    "grpc.keepalive_time_ms": options.keepaliveMs ?? 60_000,
    "grpc.keepalive_timeout_ms": options.keepaliveTimeoutMs ?? 10_000,
    "grpc.initial_reconnect_backoff_ms": RECONNECT_MS.initial,
    "grpc.max_reconnect_backoff_ms": RECONNECT_MS.max,
    // Counters of calls that nobody could ask for.
    "grpc.enable_channelz": 0,
    // Connections of its own, which close with it.
    "grpc.use_local_subchannel_pool": 1,
    "grpc.service_config_disable_resolution": 1,
    ...(balanced && { "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }) }),
    ...(options.tls?.serverName !== undefined && { "grpc.ssl_target_name_override": options.tls.serverName }),
  };
}
