/** Server streams on grpc-js: pulled from the log as fast as the reader takes them, ended when it takes nothing. */
import { create, type DescMethodServerStreaming } from "@bufbuild/protobuf";
import type { Http2Stream } from "node:http2";
import type { handleServerStreamingCall, ServerWritableStream } from "@grpc/grpc-js";
import { acceptedKey } from "../../rpc/call-facts.ts";
import { connectError } from "../../rpc/errors.ts";
import { wireBytes } from "../../rpc/wire-cache.ts";
import type { CallContext } from "../call-context.ts";
import { type Egress, LARGE_FRAME, type Wait, waitForReader } from "../progress.ts";
import { type AnyGuarded, asBuffer, contextOf, decode, type Impl, sendHeaders, statusOf } from "./call.ts";

/** How slow readers are treated. */
export interface GrpcStreamOptions {
  /** Messages that may wait for a slow reader's socket before its stream is no longer read from the log. */
  readonly maxQueuedMessages: number;
  /** A reader that takes nothing for this long is ended. */
  readonly stalledStreamMs: number;
  /** How long the end of a stalled stream may take to be flushed before the stream is reset. */
  readonly stallFlushMs: number;
  readonly egress: Egress;
}

type StreamCall = ServerWritableStream<Buffer, Buffer>;

/** NGHTTP2_CANCEL. Not REFUSED_STREAM: clients send such a call again by themselves. */
const RST_CANCEL = 8;

/** The handler of a streaming method. */
export function streaming(
  guarded: AnyGuarded,
  method: DescMethodServerStreaming,
  impl: Impl,
  options: GrpcStreamOptions,
): handleServerStreamingCall<Buffer, Buffer> {
  return (call) => {
    const context = contextOf(guarded, method, call);
    let sent = false;
    const open = (): void => {
      if (!sent) sendHeaders(call, context);
      sent = true;
    };
    context.values.set(acceptedKey, open);
    const run = async (): Promise<void> => {
      try {
        await guarded.admit(context);
        const frames = impl(decode(method, call.request), context) as AsyncIterable<object>;
        const end = await pump(method, frames[Symbol.asyncIterator](), call, context, open, options);
        if (end === "stalled") return await giveUp(call, context, options);
        if (context.signal.aborted && !call.cancelled) throw context.signal.reason;
        call.end();
      } catch (error) {
        open();
        call.emit("error", statusOf(error));
      } finally {
        context.end();
      }
    };
    void run();
  };
}

async function pump(
  method: DescMethodServerStreaming,
  frames: AsyncIterator<object>,
  call: StreamCall,
  context: CallContext,
  open: () => void,
  options: GrpcStreamOptions,
): Promise<Wait> {
  try {
    for (;;) {
      const { done, value } = await frames.next();
      if (done === true || context.signal.aborted) return "drained";
      open();
      const bytes = asBuffer(wireBytes(method.output, create(method.output, value as never)));
      const going = write(call, bytes, context, options);
      if (going !== undefined && (await going) === "stalled") return "stalled";
    }
  } finally {
    await frames.return?.();
  }
}

/** Writes a frame; answers a promise where the next one should wait. */
function write(call: StreamCall, bytes: Buffer, context: CallContext, options: GrpcStreamOptions): Promise<Wait> | undefined {
  if (bytes.length > LARGE_FRAME) return writeLarge(call, bytes, context, options);
  call.write(bytes);
  return call.writableLength < options.maxQueuedMessages ? undefined : drained(call, options);
}

async function writeLarge(call: StreamCall, bytes: Buffer, { signal }: CallContext, options: GrpcStreamOptions): Promise<Wait> {
  using _place = await options.egress.acquire(bytes.length, signal);
  const written = Promise.withResolvers<void>();
  call.write(bytes, () => written.resolve());
  return drained(call, options, written);
}

/** Resolves when the reader has taken enough to go on (or the whole of one large frame), is gone, or has stalled. */
async function drained(call: StreamCall, { stalledStreamMs }: GrpcStreamOptions, large?: PromiseWithResolvers<void>): Promise<Wait> {
  if (call.cancelled || call.destroyed) return "drained";
  const { promise, resolve } = large ?? Promise.withResolvers<void>();
  const over = (): void => resolve();
  const events = ["drain", "cancelled", "close", "error"] as const;
  const heard = large === undefined ? events : events.slice(1);
  for (const event of heard) call.on(event, over);
  // One large frame counts as queued until its last byte has left: there, what the connection sends is progress too.
  const socket = large && http2StreamOf(call)?.session?.socket;
  const progress = (): number => call.writableLength + (socket?.bytesWritten ?? 0);
  try {
    return await waitForReader(promise, progress, stalledStreamMs);
  } finally {
    for (const event of heard) call.off(event, over);
  }
}

/** Tells a stalled reader where it can still be told, then resets its stream. */
async function giveUp(call: StreamCall, context: CallContext, { stallFlushMs }: GrpcStreamOptions): Promise<void> {
  const stream = http2StreamOf(call);
  const metadata = { taskId: context.responseHeader.get("a2a-task-id") ?? "" };
  const { promise, resolve } = Promise.withResolvers<void>();
  stream?.once("close", resolve);
  const timer = setTimeout(resolve, stallFlushMs);
  call.emit("error", statusOf(connectError("STREAM_STALLED", "the reader took nothing: subscribe again", { metadata })));
  await promise;
  clearTimeout(timer);
  if (stream?.closed === false) stream.close(RST_CANCEL);
}

/** grpc-js has no public way to a call's HTTP/2 stream; a test holds this one against the pinned version. */
function http2StreamOf(call: StreamCall): Http2Stream | undefined {
  return (call as unknown as { call?: { stream?: Http2Stream } }).call?.stream;
}
