/** What came to a receiver, as one reads it. */
import { type Part, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { isTerminal, stateAfter } from "../../src/core/task.ts";
import type { Received } from "./receiver.ts";

/** States by their names, artifacts by the texts of their parts. */
export function shown(received: readonly Received[]): string[] {
  return received.map(({ event: { payload } }) => {
    if (payload.case === "artifactUpdate") return payload.value.artifact?.parts.map(textOf).join("|") ?? "";
    const status = payload.case === "task" || payload.case === "statusUpdate" ? payload.value.status : undefined;
    return Object.entries(TaskState).find(([, value]) => value === status?.state)?.[0] ?? "no state";
  });
}

function textOf({ content }: Part): string {
  return content.case === "text" ? content.value : "";
}

/** The terminal event has come, and was acknowledged. */
export function isEnded(received: readonly Received[]): boolean {
  return received.some(({ event, status }) => status === 200 && isTerminal(stateAfter(event) ?? TaskState.UNSPECIFIED));
}
