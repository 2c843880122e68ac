/** What a body of JSON has to be, by the head of its request. */
import { connectError } from "../rpc/errors.ts";
import { isJson, mediaTypeOf } from "./http-exchange.ts";
import type { HttpRequest } from "./http-message.ts";

/** Throws UNSUPPORTED_MEDIA_TYPE for a body of another type than JSON (C-61), UNSUPPORTED_ENCODING for one that is compressed. */
export function requireJson(request: HttpRequest): void {
  const mediaType = mediaTypeOf(request);
  if (mediaType !== undefined && !isJson(mediaType)) {
    throw connectError("UNSUPPORTED_MEDIA_TYPE", `the body is application/json or application/a2a+json, not ${mediaType}`);
  }
  const encoding = request.headers["content-encoding"] ?? "identity";
  if (encoding.toLowerCase() !== "identity") {
    throw connectError("UNSUPPORTED_ENCODING", "the body is sent as it is, without content-encoding");
  }
}
