/** gRPC on grpc-js: every method of a service, by its descriptor. Stored bytes pass through untouched. */
import {
  create,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  fromBinary,
  type Message,
} from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  Server,
  type ServerCredentials,
  type ServerWritableStream,
  type ServiceDefinition,
  type StatusObject,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { connectError, statusBytes, wireError } from "../rpc/errors.ts";
import { MAX_MESSAGE_DEPTH } from "../rpc/json-input.ts";
import type { GuardedService } from "../rpc/policy.ts";
import { wireBytes } from "../rpc/wire-cache.ts";
import { CallContext } from "./call-context.ts";

/** Bounds of the gRPC server. */
export interface GrpcOptions {
  /** Largest request and reply, in bytes. */
  readonly maxMessageBytes: number;
  /** Messages that may wait for a slow reader's socket before its stream is no longer read from the log. */
  readonly maxQueuedMessages: number;
  /** Time between two HTTP/2 PINGs on an idle connection, and how long an answer may take. */
  readonly keepaliveMs: number;
  readonly keepaliveTimeoutMs: number;
}

type AnyGuarded = GuardedService<DescService>;
type Call = Parameters<handleUnaryCall<Buffer, Buffer>>[0] | ServerWritableStream<Buffer, Buffer>;
type Impl = (request: Message, context: HandlerContext) => unknown;

/** A server with every method of the service; not yet bound. */
export function grpcServer(guarded: AnyGuarded, options: GrpcOptions): Server {
  const server = new Server({
    "grpc.max_receive_message_length": options.maxMessageBytes,
    "grpc.max_send_message_length": -1,
    "grpc.keepalive_time_ms": options.keepaliveMs,
    "grpc.keepalive_timeout_ms": options.keepaliveTimeoutMs,
    "grpc.keepalive_permit_without_calls": 1,
  });
  const definition: Record<string, ServiceDefinition[string]> = {};
  const implementation: UntypedServiceImplementation = {};
  for (const method of guarded.desc.methods) {
    const impl = (guarded.impl as unknown as Record<string, Impl>)[method.localName] as Impl;
    definition[method.name] = {
      path: `/${guarded.desc.typeName}/${method.name}`,
      requestStream: false,
      responseStream: method.methodKind === "server_streaming",
      // Bytes pass: decoding has its own errors, encoding its own cache.
      requestSerialize: asBuffer,
      requestDeserialize: (bytes) => bytes,
      responseSerialize: asBuffer,
      responseDeserialize: (bytes) => bytes,
    };
    implementation[method.name] =
      method.methodKind === "server_streaming"
        ? streaming(guarded, method as DescMethodServerStreaming, impl, options)
        : unary(guarded, method as DescMethodUnary, impl);
  }
  server.addService(definition, implementation);
  return server;
}

/** Binds the server; answers the port. */
export function listenGrpc(server: Server, address: string, credentials: ServerCredentials): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.bindAsync(address, credentials, (error, port) => (error === null ? resolve(port) : reject(error)));
  return promise;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function unary(guarded: AnyGuarded, method: DescMethodUnary, impl: Impl): handleUnaryCall<Buffer, Buffer> {
  return (call, callback) => {
    const context = contextOf(guarded, method, call);
    const answer = async (): Promise<Buffer> => {
      await guarded.admit(context);
      const result = await impl(decode(method, call.request), context);
      return asBuffer(wireBytes(method.output, create(method.output, result as never)));
    };
    const reply = async (): Promise<void> => {
      const outcome = await answer().then(
        (bytes) => ({ bytes, error: null }),
        (error: unknown) => ({ bytes: null, error: statusOf(error) }),
      );
      sendHeaders(call, context);
      callback(outcome.error, outcome.bytes);
      context.end();
    };
    void reply();
  };
}

function streaming(
  guarded: AnyGuarded,
  method: DescMethodServerStreaming,
  impl: Impl,
  options: GrpcOptions,
): handleServerStreamingCall<Buffer, Buffer> {
  return (call) => {
    const context = contextOf(guarded, method, call);
    void pump(guarded, method, impl, call, context, options)
      .then(() => call.end())
      .catch((error: unknown) => {
        sendHeaders(call, context);
        call.emit("error", statusOf(error));
      })
      .finally(() => context.end());
  };
}

async function pump(
  guarded: AnyGuarded,
  method: DescMethodServerStreaming,
  impl: Impl,
  call: ServerWritableStream<Buffer, Buffer>,
  context: CallContext,
  { maxQueuedMessages }: GrpcOptions,
): Promise<void> {
  await guarded.admit(context);
  const frames = (impl(decode(method, call.request), context) as AsyncIterable<object>)[Symbol.asyncIterator]();
  try {
    let opened = false;
    for (;;) {
      const { done, value } = await frames.next();
      if (done === true || context.signal.aborted) break;
      if (!opened) sendHeaders(call, context);
      opened = true;
      call.write(asBuffer(wireBytes(method.output, create(method.output, value as never))));
      if (call.writableLength >= maxQueuedMessages) await drained(call);
    }
  } finally {
    await frames.return?.();
  }
  if (context.signal.aborted && !call.cancelled) throw context.signal.reason;
}

/** Resolves when the socket has taken what was written, or the call is over. */
async function drained(call: ServerWritableStream<Buffer, Buffer>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const over = (): void => resolve();
  const events = ["drain", "cancelled", "close", "error"] as const;
  for (const event of events) call.on(event, over);
  try {
    if (!call.cancelled && !call.destroyed) await promise;
  } finally {
    for (const event of events) call.off(event, over);
  }
}

function contextOf(guarded: AnyGuarded, method: DescMethod, call: Call): CallContext {
  const deadline = call.getDeadline();
  const left = deadline instanceof Date ? deadline.getTime() - Date.now() : deadline - Date.now();
  const context = new CallContext({
    service: guarded.desc,
    method,
    protocolName: "grpc",
    requestMethod: "POST",
    url: call.getPath(),
    headers: () => headersOf(call.metadata),
    timeoutMs: Number.isFinite(left) ? left : undefined,
  });
  call.on("cancelled", () => context.end(connectError("CANCELLED", "the caller has gone")));
  return context;
}

function* headersOf(metadata: Metadata): IterableIterator<[string, string]> {
  for (const key of Object.keys(metadata.getMap())) {
    for (const value of metadata.get(key)) if (typeof value === "string") yield [key, value];
  }
}

function decode(method: DescMethod, bytes: Buffer): Message {
  try {
    return fromBinary(method.input, bytes, { recursionLimit: MAX_MESSAGE_DEPTH });
  } catch (error) {
    throw connectError("INVALID_ARGUMENT", `the request is no ${method.input.typeName}`, { cause: error });
  }
}

function sendHeaders(call: Call, context: CallContext): void {
  const metadata = new Metadata();
  for (const [name, value] of context.responseHeaders()) metadata.set(name, value);
  if (!call.cancelled) call.sendMetadata(metadata);
}

function statusOf(thrown: unknown): Partial<StatusObject> & { name: string; message: string } {
  const error = wireError(thrown);
  const metadata = new Metadata();
  metadata.set("grpc-status-details-bin", asBuffer(statusBytes(error)));
  if (error.retryAfterSeconds !== undefined) metadata.set("retry-after", String(error.retryAfterSeconds));
  // Connect's codes are gRPC's numbers.
  return { name: error.status, message: error.message, code: error.code as number, details: error.message, metadata };
}
