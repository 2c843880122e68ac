/** What waits to be appended: events of the task, and memos of its agent. */
import { create, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { type StreamResponse, StreamResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { MemoSchema } from "../../gen/throughline/v1/log_pb.ts";
import { type Entry, newMark, type NewEntry } from "../core/log-entry.ts";
import { stateAfter } from "../core/task.ts";

/** How an event is written. */
export interface PushOptions {
  /** Refuse it where a command waits. */
  readonly unlessPending?: boolean;
  /** Do not count it against `maxTaskBytes`. */
  readonly unbounded?: boolean;
}

/** An entry on its way into the log. */
export interface Pending {
  /** Undefined for a memo. */
  readonly event: StreamResponse | undefined;
  readonly entry: NewEntry;
  readonly unlessPending: boolean;
  /** The worker's own last word on a task that is full. */
  readonly unbounded: boolean;
}

/** An event. */
export function pendingEvent(event: StreamResponse, { unlessPending = false, unbounded = false }: PushOptions): Pending {
  const bytes = toBinary(StreamResponseSchema, event);
  return { event, entry: { kind: "event", mark: newMark(), bytes, content: event }, unlessPending, unbounded };
}

/** A memo. */
export function pendingMemo(value: JsonObject): Pending {
  const content = create(MemoSchema, { value });
  const bytes = toBinary(MemoSchema, content);
  return { event: undefined, entry: { kind: "memo", mark: newMark(), bytes, content }, unlessPending: false, unbounded: false };
}

/** An event or a memo that the store has lost, to be appended anew. */
export function again(lost: Entry): Pending {
  const { kind, bytes } = lost;
  const event = kind === "event" ? lost.event : undefined;
  return { event, entry: { kind, mark: newMark(), bytes }, unlessPending: false, unbounded: true };
}

/** The events among them. */
export function eventsOf(pending: readonly Pending[]): StreamResponse[] {
  return pending.flatMap(({ event }) => event ?? []);
}

/** Whether it changes the state of its task. */
export function changesState({ event }: Pending): boolean {
  return event !== undefined && stateAfter(event) !== undefined;
}
