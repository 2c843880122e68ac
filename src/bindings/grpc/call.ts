/** What unary and streaming calls of grpc-js share. */
import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { Metadata, type StatusObject } from "@grpc/grpc-js";
import { parseBinaryInput } from "../../rpc/binary-input.ts";
import { REQUEST_BOUNDS, type RequestBounds } from "../../rpc/request-bounds.ts";
import type { WriterOptions } from "../frame-writer.ts";
import { statusBytes, wireError } from "../../rpc/errors.ts";
import type { GuardedService } from "../../rpc/policy.ts";
import { asBuffer } from "../envelope.ts";
import { CallContext, endsAfter, GONE } from "../call-context.ts";
import { type Call, http2StreamOf } from "./http2-stream.ts";

/** A service of any descriptor. */
export type AnyGuarded = GuardedService<DescService>;
/** A method of an implementation. */
export type Impl = (request: Message, context: HandlerContext) => unknown;

/** The context of a call: its signal follows deadline and cancellation. */
export function contextOf(guarded: AnyGuarded, method: DescMethod, call: Call): CallContext {
  const deadline = call.getDeadline();
  const left = deadline instanceof Date ? deadline.getTime() - Date.now() : deadline - Date.now();
  const context = new CallContext({
    service: guarded,
    method,
    protocolName: "grpc",
    requestMethod: "POST",
    url: call.getPath(),
    headers: () => headersOf(call.metadata),
    socket: http2StreamOf(call).session?.socket,
    // grpc-js ends the call at the deadline itself, with a bare status.
    timeoutMs: Number.isFinite(left) ? endsAfter(left) : undefined,
  });
  call.on("cancelled", () => context.end(GONE));
  return context;
}

function* headersOf(metadata: Metadata): IterableIterator<[string, string]> {
  for (const key of Object.keys(metadata.getMap())) {
    for (const value of metadata.get(key)) if (typeof value === "string") yield [key, value];
  }
}

/** What every call is answered with. */
export interface CallOptions extends WriterOptions {
  /** Default {@link REQUEST_BOUNDS}. */
  readonly requestBounds?: RequestBounds | undefined;
}

/** The request. Throws INVALID_ARGUMENT, and MESSAGE_TOO_LARGE where it holds too many values. */
export function decode(method: DescMethod, bytes: Buffer, bounds = REQUEST_BOUNDS): Message {
  return parseBinaryInput(method.input, bytes, bounds);
}

/** Sends the initial metadata that the call has collected, the first time it is called. */
export function headersOnce(call: Call, context: CallContext): () => void {
  let sent = false;
  return () => {
    if (sent) return;
    sent = true;
    const metadata = new Metadata();
    for (const [name, value] of context.responseHeaders()) for (const one of [value].flat()) metadata.add(name, one);
    if (!call.cancelled) call.sendMetadata(metadata);
  };
}

/** Anything thrown, as a rich status. */
export function statusOf(thrown: unknown): Partial<StatusObject> & { name: string; message: string } {
  const error = wireError(thrown);
  const metadata = new Metadata();
  metadata.set("grpc-status-details-bin", asBuffer(statusBytes(error)));
  if (error.retryAfterSeconds !== undefined) metadata.set("retry-after", String(error.retryAfterSeconds));
  // Connect's codes are gRPC's numbers.
  return { name: error.status, message: error.message, code: error.code as number, details: error.message, metadata };
}
