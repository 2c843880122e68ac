/** What the log keeps of an upstream task, so that any replica can go on with it. */
import type { JsonObject } from "@bufbuild/protobuf";

/** The upstream's end of a task. */
export interface UpstreamMemo {
  /** Its id there; empty where the message is on its way, and nobody has heard what became of it. */
  readonly taskId: string;
  readonly contextId: string;
  /** Id of the last message that went there, as the upstream knows it. */
  readonly messageId: string;
  /** Digest of that message. */
  readonly message: string;
}

const KEY = "upstream";

/** As a memo holds it. */
export function toMemo(upstream: UpstreamMemo): JsonObject {
  return { [KEY]: { ...upstream } };
}

/** What a memo holds; undefined where it is none of ours. */
export function fromMemo(memo: JsonObject | undefined): UpstreamMemo | undefined {
  const held = memo?.[KEY];
  if (typeof held !== "object" || held === null || Array.isArray(held)) return undefined;
  const { taskId, contextId, messageId, message } = held;
  const texts = [taskId, contextId, messageId, message];
  return texts.every((text) => typeof text === "string") ? ({ taskId, contextId, messageId, message } as UpstreamMemo) : undefined;
}
