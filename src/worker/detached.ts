/** What an agent hands over, as a message of our own that every binding can carry. */
import { create, type DescMessage, fromBinary, type MessageInitShape, type MessageShape, toBinary, toJson } from "@bufbuild/protobuf";
import { TaskError } from "../core/errors.ts";

/** As deep as callers' messages may be: what is deeper, protobuf readers refuse. */
const MAX_DEPTH = 90;

/** Members of events that are no text. */
const NUMBERS: ReadonlySet<string> = new Set(["state", "role"]);
const FLAGS: ReadonlySet<string> = new Set(["append", "lastChunk"]);

/**
 * A copy that shares nothing with what the agent holds on to, and that means the same in protobuf and in JSON: half a surrogate pair is
 * U+FFFD in both. Throws INVALID_AGENT_RESPONSE for what one of them cannot carry: wrong types, values without a kind, NaN, nesting
 * beyond {@link MAX_DEPTH}.
 */
export function detached<D extends DescMessage>(desc: D, given: MessageInitShape<D>): MessageShape<D> {
  try {
    const message = create(desc, given);
    if (isPlain(given, "")) return message;
    const copy = fromBinary(desc, toBinary(desc, message), { recursionLimit: MAX_DEPTH });
    toJson(desc, copy);
    return copy;
  } catch (cause) {
    throw new TaskError("INVALID_AGENT_RESPONSE", `the agent's ${desc.name} is no valid message`, { cause });
  }
}

/**
 * Whether `create` has copied all there is: no messages, bytes, metadata or data within, and nothing but well-formed texts where texts
 * belong. So are most events, and a second encoding would double what they cost.
 */
function isPlain(value: unknown, name: string): boolean {
  switch (typeof value) {
    case "undefined":
      return true;
    case "string":
      return value.isWellFormed() && name !== "parts";
    case "number":
      return NUMBERS.has(name);
    case "boolean":
      return FLAGS.has(name);
    case "object":
      if (value === null || "$typeName" in value || ArrayBuffer.isView(value)) return false;
      if (Array.isArray(value)) return name === "parts" && value.every((part) => typeof part === "object" && isPlain(part, "part"));
      return name !== "metadata" && name !== "value" && Object.entries(value).every(([key, member]) => isPlain(member, key));
    default:
      return false;
  }
}
