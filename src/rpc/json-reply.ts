/** Reads ProtoJSON that servers send: what is new or unknown in it is passed over, what is plainly wrong is an error. */
import { type DescMessage, fromJson, type JsonObject, type JsonValue, type MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { withoutNulls } from "./json-input.ts";

/** Names that some servers have for a member (C-04). */
const OTHER_NAMES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "lf.a2a.v1.StreamResponse": { taskStatusUpdate: "statusUpdate", taskArtifactUpdate: "artifactUpdate" },
};

/**
 * Decodes a message. Unknown members and unknown names of enums are ignored, null is unset wherever it stands, absent means default
 * (C-18), times may have any number of digits (C-57). Throws INTERNAL for values of a wrong type.
 */
export function parseJsonReply<Desc extends DescMessage>(desc: Desc, json: JsonValue): MessageShape<Desc> {
  const named = renamed(desc, json);
  try {
    return fromJson(desc, named, LENIENT);
  } catch {
    // Most replies never come here: the second reading costs as much as the first.
    try {
      return fromJson(desc, withoutNulls(desc, named), LENIENT);
    } catch (cause) {
      throw unreadable(`the reply is no ${desc.typeName}`, cause);
    }
  }
}

const LENIENT = { ignoreUnknownFields: true } as const;

/** Parses the JSON text of a reply. Throws INTERNAL. */
export function parseReplyText(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (cause) {
    throw unreadable("the reply is not JSON", cause);
  }
}

/** The error for a reply that is none. */
export function unreadable(message: string, cause?: unknown): ConnectError {
  return new ConnectError(message, Code.Internal, undefined, undefined, cause);
}

/** Whether the JSON is an object. */
export function isJsonObject(json: JsonValue | undefined): json is JsonObject {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}

function renamed(desc: DescMessage, json: JsonValue): JsonValue {
  const names = OTHER_NAMES[desc.typeName];
  if (names === undefined || !isJsonObject(json)) return json;
  if (!Object.keys(names).some((name) => name in json)) return json;
  return Object.fromEntries(Object.entries(json).map(([name, value]) => [names[name] ?? name, value]));
}
