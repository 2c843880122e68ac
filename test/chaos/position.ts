/** Positions as callers see them, by the extension `urn:throughline:a2a:log:v1`. */
import { clone } from "@bufbuild/protobuf";
import { type StreamResponse, StreamResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { formatPosition, parsePosition, type Position } from "../../src/core/log-entry.ts";

const LOG_URI = "urn:throughline:a2a:log:v1";

/** The headers of a call that activates the extension; `after`: of a reader that comes back with this place in this task. */
export function logHeaders(after?: { readonly taskId: string; readonly position: Position }): Readonly<Record<string, string>> {
  const active = { "a2a-extensions": LOG_URI };
  return after === undefined ? active : { ...active, "last-event-id": `${after.taskId}/${formatPosition(after.position)}` };
}

/** A frame as it is stored, without the position that it carries in its metadata, and that position. Throws where it carries none. */
export function positioned(frame: StreamResponse): { readonly response: StreamResponse; readonly position: Position } {
  const response = clone(StreamResponseSchema, frame);
  const { value } = response.payload;
  if (value === undefined || !("metadata" in value) || value.metadata === undefined) throw new TypeError("a frame without a position");
  const { [LOG_URI]: place, ...rest } = value.metadata;
  const position = parsePosition((place as { position: string }).position);
  if (position === undefined) throw new TypeError("a frame with a position that is none");
  if (Object.keys(rest).length > 0) value.metadata = rest;
  else delete value.metadata;
  return { response, position };
}
