/** Tasks and what they are made of, in words. */
import { timestampDate, type Timestamp } from "@bufbuild/protobuf/wkt";
import { type Message, type Part, type Task, TaskState, TaskStateSchema } from "../client/index.ts";
import { stateOf } from "../core/task.ts";

/** The states that there are, as flags take them: `input-required`. */
export const STATES: ReadonlyMap<string, TaskState> = new Map(
  TaskStateSchema.values
    .filter(({ number }) => number !== TaskState.UNSPECIFIED)
    .map(({ number, localName }) => [localName.toLowerCase().replaceAll("_", "-"), number as TaskState]),
);

/** `input required`. */
export function stateText(state: TaskState): string {
  return TaskStateSchema.value[state]?.localName.toLowerCase().replaceAll("_", " ") ?? `state ${state}`;
}

/** `working: reading the report`. */
export function statusText(task: Task): string {
  const said = task.status?.message === undefined ? "" : messageText(task.status.message);
  return said === "" ? stateText(stateOf(task)) : `${stateText(stateOf(task))}: ${said}`;
}

/** The texts of a message; of its other parts what they are. */
export function messageText({ parts }: Message): string {
  return parts.map((part) => (part.content.case === "text" ? part.content.value : `[${partText(part)}]`)).join("");
}

/** What a part is: `report.pdf, application/pdf, 1024 bytes`. */
export function partText({ content, filename, mediaType }: Part): string {
  const size = content.case === "raw" || content.case === "text" ? `${Buffer.from(content.value).length} bytes` : "";
  const what = content.case === "url" ? content.value : (content.case ?? "nothing");
  return [filename, mediaType || what, size].filter((word) => word !== "").join(", ");
}

/** `2026-11-30T00:19:55Z`; empty where there is none. */
export function timeText(time: Timestamp | undefined): string {
  return time === undefined
    ? ""
    : timestampDate(time)
        .toISOString()
        .replace(/\.\d+Z$/, "Z");
}

/** Lines of two columns. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = rows.reduce<number[]>((all, row) => row.map((cell, at) => Math.max(all[at] ?? 0, cell.length)), []);
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, at) => cell.padEnd(widths[at] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}
