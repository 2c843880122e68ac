/** Checks what stands in the log of one task. */
import type { StreamResponse } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Entry } from "../../src/core/log-entry.ts";
import { isTerminal, stateAfter } from "../../src/core/task.ts";
import type { Finding, FindingKind } from "./finding.ts";
import { parseNumber } from "./script.ts";

/** How logs are judged. */
export interface LogRules {
  /** Entries may have been lost by the store and written again by their owner: the agent's numbers prove nothing then. */
  readonly rewound: boolean;
}

/**
 * Offsets 1..n without a gap, each mark once, epochs that never fall, one terminal event at the end, each message once; and the agent's own
 * numbers: 1, 2, 3 …, whoever wrote them.
 */
export function checkLog(taskId: string, entries: readonly Entry[], { rewound }: LogRules): Finding[] {
  const found: Finding[] = [];
  const say = (kind: FindingKind, what: string): void => void found.push({ kind, taskId, what });
  const [marks, messages] = [new Set<string>(), new Set<string>()];
  for (const [index, entry] of entries.entries()) {
    const { offset, mark, epoch } = entry;
    const before = entries[index - 1];
    if (offset !== index + 1) say(offset > index + 1 ? "lost" : "reordered", `the log has offset ${offset} at place ${index + 1}`);
    if (marks.has(mark)) say("doubled", `the mark ${mark} stands in the log again, at ${offset}`);
    marks.add(mark);
    if (before !== undefined && epoch < before.epoch) say("broken", `3: epoch ${epoch} after ${before.epoch} at ${offset}`);
    const state = entry.kind === "event" ? stateAfter(entry.event) : undefined;
    if (state !== undefined && isTerminal(state) && index !== entries.length - 1)
      say("broken", `4: there are entries after the terminal one at ${offset}`);
    const messageId = messageIn(entry);
    if (messageId === undefined) continue;
    if (messages.has(messageId)) say("doubled", `the message ${messageId} stands in the log again, at ${offset}`);
    messages.add(messageId);
  }
  if (!rewound) found.push(...checkNumbers(taskId, entries));
  return found;
}

function checkNumbers(taskId: string, entries: readonly Entry[]): Finding[] {
  const found: Finding[] = [];
  const seen = new Set<number>();
  let last = 0;
  for (const entry of entries) {
    const number = entry.kind === "event" ? parseNumber(textIn(entry.event))?.number : undefined;
    if (number === undefined) continue;
    const at = `the agent's event ${number} at offset ${entry.offset}, after ${last}`;
    if (seen.has(number)) found.push({ kind: "doubled", taskId, what: at });
    else if (number < last) found.push({ kind: "reordered", taskId, what: at });
    else if (number > last + 1) found.push({ kind: "lost", taskId, what: at });
    seen.add(number);
    last = Math.max(last, number);
  }
  return found;
}

/** Id of the message that an entry brings; undefined where it brings none. */
export function messageIn(entry: Entry): string | undefined {
  if (entry.kind !== "command") return undefined;
  const { kind } = entry.command;
  return kind.case === "start" || kind.case === "followUp" ? kind.value.messageId : undefined;
}

/** The text that an event of the agent's begins with. */
export function textIn({ payload }: StreamResponse): string {
  const parts =
    payload.case === "statusUpdate"
      ? payload.value.status?.message?.parts
      : payload.case === "artifactUpdate"
        ? payload.value.artifact?.parts
        : undefined;
  const content = parts?.[0]?.content;
  return content?.case === "text" ? content.value : "";
}
