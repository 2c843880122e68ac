/** gRPC on grpc-js: every method of a service, by its descriptor. Stored bytes pass through untouched. */
import { create, type DescMethodServerStreaming, type DescMethodUnary } from "@bufbuild/protobuf";
import {
  type handleUnaryCall,
  type sendUnaryData,
  logVerbosity,
  Server,
  type ServerCredentials,
  setLogVerbosity,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { acceptedKey } from "../../rpc/call-facts.ts";
import { connectError } from "../../rpc/errors.ts";
import { wireBytes } from "../../rpc/wire-cache.ts";
import type { CallContext } from "../call-context.ts";
import { CONNECTION_BOUNDS, type ConnectionBounds } from "../connection-bounds.ts";
import { asBuffer } from "../envelope.ts";
import type { WriterOptions } from "../frame-writer.ts";
import { RST_CALM, RST_CANCEL } from "../http-message.ts";
import { LARGE_FRAME, waitForReader } from "../progress.ts";
import { type AnyGuarded, type CallOptions, contextOf, decode, type Impl, headersOnce, statusOf } from "./call.ts";
import { definitionOf } from "./definition.ts";
import { boundServer, guardServer } from "./guard-server.ts";
import { type Call, http2StreamOf } from "./http2-stream.ts";
import { letGo } from "./let-go.ts";
import { streaming } from "./stream.ts";

/** Bounds of the gRPC server. */
export interface GrpcOptions extends CallOptions {
  /** Largest request and reply, in bytes. */
  readonly maxMessageBytes: number;
  /** Time between two HTTP/2 PINGs on an idle connection, and how long an answer may take. */
  readonly keepaliveMs: number;
  readonly keepaliveTimeoutMs: number;
  /** How long a connection may last, give or take a tenth. Default: for ever. */
  readonly connectionAgeMs?: number | undefined;
  readonly bounds: ConnectionBounds;
}

/** A server with every method of the service; not yet bound. */
export function grpcServer(guarded: AnyGuarded, options: GrpcOptions): Server {
  silence();
  const server = new Server({
    "grpc.max_receive_message_length": options.maxMessageBytes,
    "grpc.max_send_message_length": -1,
    "grpc.keepalive_time_ms": options.keepaliveMs,
    "grpc.keepalive_timeout_ms": options.keepaliveTimeoutMs,
    "grpc.keepalive_permit_without_calls": 1,
    // Counters of calls that nobody could ask for.
    "grpc.enable_channelz": 0,
    // The next PING after the GOAWAY would end the streams anyhow (grpc-node 3068): they get the time until then.
    ...(options.connectionAgeMs !== undefined && {
      "grpc.max_connection_age_ms": options.connectionAgeMs,
      "grpc.max_connection_age_grace_ms": options.keepaliveMs,
    }),
  });
  boundServer(server, options.bounds);
  const implementation: UntypedServiceImplementation = {};
  for (const method of guarded.desc.methods) {
    const impl = (guarded.impl as unknown as Record<string, Impl>)[method.localName] as Impl;
    implementation[method.name] =
      method.methodKind === "server_streaming"
        ? streaming(guarded, method as DescMethodServerStreaming, impl, options)
        : unary(guarded, method as DescMethodUnary, impl, options);
  }
  server.addService(definitionOf(guarded.desc), implementation);
  return server;
}

/** Binds the server; answers the port. */
export function listenGrpc(
  server: Server,
  address: string,
  credentials: ServerCredentials,
  bounds: ConnectionBounds = CONNECTION_BOUNDS,
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.bindAsync(address, credentials, (error, port) => {
    if (error !== null) return reject(error);
    guardServer(server, bounds);
    return resolve(port);
  });
  return promise;
}

/**
 * grpc-js writes what it throws away of a call's metadata to stderr, credentials among it, and failures that whoever called tells
 * of. Here it writes only where the environment asks.
 */
function silence(): void {
  if (process.env["GRPC_VERBOSITY"] === undefined && process.env["GRPC_NODE_VERBOSITY"] === undefined) setLogVerbosity(logVerbosity.NONE);
}

function unary(guarded: AnyGuarded, method: DescMethodUnary, impl: Impl, options: CallOptions): handleUnaryCall<Buffer, Buffer> {
  return (call, callback) => {
    const context = contextOf(guarded, method, call);
    const open = headersOnce(call, context);
    context.values.set(acceptedKey, open);
    const answer = async (): Promise<Buffer> => {
      await guarded.admit(context);
      const result = await impl(decode(method, call.request, options.requestBounds), context);
      return asBuffer(wireBytes(method.output, create(method.output, result as never)));
    };
    const reply = async (): Promise<void> => {
      const outcome = await answer().then(
        (bytes) => ({ bytes, error: null }),
        (error: unknown) => {
          context.failed(error);
          return { bytes: null, error: statusOf(error) };
        },
      );
      open();
      if (outcome.bytes === null) callback(outcome.error);
      else await send(call, outcome.bytes, callback, context, options);
      context.end();
      letGo(call);
    };
    void reply();
  };
}

/** Sends a reply that is counted until it has left; where too much is left unread already, an error in its place. */
async function send(
  call: Call,
  bytes: Buffer,
  callback: sendUnaryData<Buffer>,
  context: CallContext,
  options: WriterOptions,
): Promise<void> {
  const { egress } = options;
  const refuse = (error: unknown): void => {
    context.failed(error);
    callback(statusOf(error));
  };
  if (bytes.length > LARGE_FRAME) {
    if (!egress.isCrowded(bytes.length)) return sendLarge(call, bytes, callback, context.signal, options);
    return refuse(connectError("RESOURCE_EXHAUSTED", "too many large replies are under way", { retryAfterMs: 1000 }));
  }
  const stream = http2StreamOf(call);
  try {
    const left = egress.replies.begin(bytes.length, stream.session ?? stream, () => stream.close(RST_CANCEL));
    if (stream.destroyed) left();
    else stream.once("close", left);
  } catch (error) {
    // A status comes after the window for data has opened, which such a caller may never do.
    const late = setTimeout(() => stream.close(RST_CALM), options.stallFlushMs);
    stream.once("close", () => clearTimeout(late));
    return refuse(error);
  }
  callback(null, bytes);
}

/** Sends a large reply within the budget of all large frames, and cuts it where its reader takes nothing. */
async function sendLarge(
  call: Call,
  bytes: Buffer,
  callback: sendUnaryData<Buffer>,
  signal: AbortSignal,
  { egress, stalledStreamMs }: WriterOptions,
): Promise<void> {
  using _place = await egress.acquire(bytes.length, signal);
  const stream = http2StreamOf(call);
  // Callers that leave together are heard of one after the other: whose turn it is now may have left as well. What is written to such a
  // stream stays until its connection ends.
  await new Promise((resolve) => setImmediate(resolve));
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  if (stream.destroyed) resolve();
  stream.once("close", resolve);
  callback(null, bytes);
  // The reply is one write: within it, only what its connection has sent tells of progress.
  const progress = (): number => stream.writableLength + (stream.session?.socket.bytesWritten ?? 0);
  if ((await waitForReader(promise, progress, stalledStreamMs)) === "stalled") stream.close(RST_CANCEL);
}
