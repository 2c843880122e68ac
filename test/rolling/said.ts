import { randomUUID } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";

/** A request that sends a text as a message of its own. */
export function said(text: string, configuration: JsonObject = {}): JsonObject {
  return { message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }] }, configuration };
}
