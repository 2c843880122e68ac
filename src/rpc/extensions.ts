/** Extensions of a call (R-212 to R-220, C-59). */
import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { connectError } from "./errors.ts";

/** Request and response header; gRPC metadata key. */
export const EXTENSIONS_HEADER = "a2a-extensions";

const NONE: ReadonlySet<string> = new Set();

/** The URIs that a request lists, commas and repeated headers alike. */
export function requestedExtensions(headers: Headers): ReadonlySet<string> {
  const listed = headers.get(EXTENSIONS_HEADER);
  if (listed === null) return NONE;
  return new Set(
    listed
      .split(",")
      .map((uri) => uri.trim())
      .filter((uri) => uri !== ""),
  );
}

/** The declared ones among the requested; unknown ones are passed over. Throws where a required one is not requested. */
export function activeExtensions(card: AgentCard, requested: ReadonlySet<string>): ReadonlySet<string> {
  const declared = card.capabilities?.extensions ?? [];
  const lacking = declared.find(({ required, uri }) => required && !requested.has(uri));
  if (lacking !== undefined) {
    throw connectError("EXTENSION_SUPPORT_REQUIRED", `this agent requires the extension ${lacking.uri}: list it in A2A-Extensions`, {
      metadata: { extension: lacking.uri },
    });
  }
  if (requested.size === 0) return NONE;
  return new Set(declared.map(({ uri }) => uri).filter((uri) => requested.has(uri)));
}
