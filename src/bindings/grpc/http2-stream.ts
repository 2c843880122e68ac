/** The HTTP/2 stream below a call of grpc-js. */
import type { Http2Stream } from "node:http2";
import type { handleUnaryCall, ServerWritableStream } from "@grpc/grpc-js";

/** A call of either kind. */
export type Call = Parameters<handleUnaryCall<Buffer, Buffer>>[0] | ServerWritableStream<Buffer, Buffer>;

/**
 * The call's HTTP/2 stream. grpc-js has no public way to it, and its own writes go one message at a time, each waiting for the one before
 * to reach the socket: a third of the speed. A test holds this against the pinned version.
 */
export function http2StreamOf(call: Call): Http2Stream {
  const { stream } = (call as unknown as { call: { stream?: Http2Stream } }).call;
  if (stream === undefined) throw new TypeError("this version of grpc-js hides its HTTP/2 stream");
  return stream;
}
