/** How a repeated send is told from a new one: scope, messageId and content (docs/architecture.md, Repeated sends). */
import { createHash } from "node:crypto";
import { toJson } from "@bufbuild/protobuf";
import canonicalize from "canonicalize";
import { type Message, MessageSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type Scope, scopeKey } from "../core/scope.ts";
import type { RepeatKey } from "../core/storage.ts";
import type { ServiceOptions } from "./options.ts";

/**
 * The digest by which a store knows a send again. Content is the ProtoJSON of the message with sorted keys (RFC 8785), as received:
 * wire bytes differ between retries, since some clients order maps at random. A follow-up's task id is part of its content.
 */
export function repeatDigest(scope: Scope, message: Message): string {
  const content = canonicalize(toJson(MessageSchema, message)) ?? "";
  const hash = createHash("sha256");
  for (const part of [scopeKey(scope), message.messageId, content]) hash.update(`${part.length}:`).update(part);
  return hash.digest("base64url");
}

/** The row to look for and to write; undefined where sends are never joined. */
export function repeatKey(digest: string, taskId: string, { dedupe }: ServiceOptions): RepeatKey | undefined {
  return dedupe.mode === "off" ? undefined : { key: digest, taskId: taskId || undefined, mode: dedupe.mode, windowMs: dedupe.windowMs };
}
