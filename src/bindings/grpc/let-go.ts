/**
 * Finished calls that a minor collection takes. Each writable stream of Node's assigns an arrow function to the property `onwrite`. V8 makes such a
 * function old from the start, so that only a major collection takes it; until then minor ones keep the stream that it closes over with all that
 * the stream refers to, and copy it twice. A call of grpc-js is two such streams, which refer to everything that the call ever had.
 */
import type { EventEmitter } from "node:events";
import type { Http2Stream } from "node:http2";
import { type Call, http2StreamOf } from "./http2-stream.ts";

/** What grpc-js keeps to itself of a call; a test holds this against the pinned version. */
interface Internals {
  request: unknown;
  metadata: unknown;
  readonly call: { stream: unknown; listener: unknown; metadata: unknown; decoder: unknown };
}

/** Makes a call and its stream refer to nothing more. To be called when the handler is done: it works once the stream is closed as well. */
export function letGo(call: Call): void {
  const stream = http2StreamOf(call);
  // What grpc-js does for a stream that has closed, it does within the same turn of the event loop.
  const later = (): void => void setImmediate(empty, call, stream);
  if (stream.destroyed) later();
  else stream.once("close", later);
}

function empty(call: Call, stream: Http2Stream): void {
  for (const emitter of [stream, call] as EventEmitter[]) emitter.removeAllListeners().on("error", ignore);
  const internals = call as unknown as Internals;
  Object.assign(internals, { request: undefined, metadata: undefined });
  // It knows by now that it is cancelled, and looks at nothing else first.
  Object.assign(internals.call, { stream: undefined, listener: null, metadata: undefined, decoder: undefined });
}

/** An error without a listener would end the process. */
function ignore(): void {}
