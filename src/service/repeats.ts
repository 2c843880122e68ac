/** How a repeated send is told from a new one: scope, messageId and content (docs/architecture.md, Repeated sends). */
import { hash } from "node:crypto";
import { toJson } from "@bufbuild/protobuf";
import canonicalize from "canonicalize";
import { type Message, MessageSchema, Role, RoleSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type Scope, scopeKey } from "../core/scope.ts";
import type { RepeatKey } from "../core/storage.ts";
import type { ServiceOptions } from "./options.ts";

/**
 * The digest by which a store knows a send again. Content is the ProtoJSON of the message with sorted keys (RFC 8785), as received:
 * wire bytes differ between retries, since some clients order maps at random. A follow-up's task id is part of its content.
 */
export function repeatDigest(scope: Scope, message: Message): string {
  const parts = [scopeKey(scope), message.messageId, contentOf(message)];
  return hash("sha256", parts.map((part) => `${part.length}:${part}`).join(""), "base64url");
}

/** The content as one text. */
function contentOf(message: Message): string {
  return plainContent(message) ?? canonicalize(toJson(MessageSchema, message)) ?? "";
}

/** The same for a message of texts without metadata, at a quarter of the cost: its keys are written in order. */
function plainContent({ contextId, extensions, messageId, metadata, parts, referenceTaskIds, role, taskId }: Message): string | undefined {
  const texts = parts.map(({ content, filename, mediaType, metadata: about }) =>
    content.case === "text" && filename === "" && mediaType === "" && about === undefined ? { text: content.value } : undefined,
  );
  const named = RoleSchema.value[role]?.name;
  if (metadata !== undefined || named === undefined || role === Role.UNSPECIFIED || texts.includes(undefined)) return undefined;
  return JSON.stringify({
    contextId: contextId || undefined,
    extensions: extensions.length === 0 ? undefined : extensions,
    messageId: messageId || undefined,
    parts: texts.length === 0 ? undefined : texts,
    referenceTaskIds: referenceTaskIds.length === 0 ? undefined : referenceTaskIds,
    role: named,
    taskId: taskId || undefined,
  });
}

/** The row to look for and to write; undefined where sends are never joined. */
export function repeatKey(digest: string, taskId: string, { dedupe }: ServiceOptions): RepeatKey | undefined {
  return dedupe.mode === "off" ? undefined : { key: digest, taskId: taskId || undefined, mode: dedupe.mode, windowMs: dedupe.windowMs };
}
