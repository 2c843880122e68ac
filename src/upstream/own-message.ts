/** Messages between two tasks that are one: ours, and the upstream's. */
import { hash } from "node:crypto";
import { type JsonObject, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type Message, MessageSchema, type Part, Role } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { PartInit } from "../core/events.ts";
import { ANONYMOUS } from "../core/scope.ts";
import { withContent } from "./said.ts";
import { fromMemo, type UpstreamMemo } from "./upstream-memo.ts";

/**
 * What the upstream says, without the ids of its own tasks and as said by an agent; undefined where no part of it has content. Parts of
 * plain text are told as what is easily copied: most are.
 */
export function ownMessage({ messageId, parts: said, metadata, extensions }: Message): MessageInitShape<typeof MessageSchema> | undefined {
  const parts = ownParts(said);
  if (parts.length === 0) return undefined;
  return { messageId, role: Role.AGENT, parts, ...(extensions.length > 0 && { extensions }), ...(metadata && { metadata }) };
}

/** Parts that have content. */
export function ownParts(parts: readonly Part[]): PartInit[] {
  return withContent(parts).map((part) => {
    const { content, mediaType, filename, metadata } = part;
    return content.case === "text" && metadata === undefined
      ? { content: { case: "text", value: content.value }, mediaType, filename }
      : part;
  });
}

/** Whose tasks a message is about. */
export interface Whose {
  readonly owner: string;
  readonly tenant: string;
}

/** Who says something, and where. */
export interface Speaker extends Whose {
  readonly contextId: string;
  memoOf(taskId: string): Promise<JsonObject | undefined>;
}

/**
 * What a caller says, for the upstream: on the upstream's task if there is one, in its context, and with its ids for the tasks of ours that
 * it refers to. A reference that the upstream knows nothing of is left out.
 */
export async function upstreamMessage(message: Message, speaker: Speaker, on?: UpstreamMemo): Promise<Message> {
  const referred = await Promise.all(message.referenceTaskIds.map((id) => speaker.memoOf(id)));
  return {
    ...message,
    messageId: upstreamId(message.messageId, speaker),
    taskId: on?.taskId ?? "",
    contextId: on?.contextId || upstreamId(speaker.contextId, speaker),
    referenceTaskIds: referred.map((memo) => fromMemo(memo)?.taskId ?? "").filter((id) => id !== ""),
  };
}

/**
 * A caller's id as the upstream sees it. To the upstream all callers are the front: what two of them name alike, a context or a message,
 * must not become one there, unless they share their tasks. Ids of callers whom nobody tells apart stay as they are.
 */
export function upstreamId(id: string, { owner, tenant }: Whose): string {
  if (owner === ANONYMOUS && tenant === "") return id;
  return hash("sha256", JSON.stringify([tenant, owner, id]), "hex").slice(0, 32);
}

const digests = new WeakMap<Message, string>();

/** Tells a message from every other of its task: ids may be used twice. Made once for each message. */
export function messageDigest(message: Message): string {
  const known = digests.get(message);
  if (known !== undefined) return known;
  const digest = hash("sha256", toBinary(MessageSchema, message), "base64url").slice(0, 22);
  digests.set(message, digest);
  return digest;
}
