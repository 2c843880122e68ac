/** Status events made before it is known whether the store will need them. */
import { create, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type Message, StreamResponseSchema, type Task, type TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { headAfter, statusTimeOf } from "../core/fold.ts";
import { newMark } from "../core/log-entry.ts";
import type { ReadyEvent } from "../core/storage.ts";

/** A status change of a task as it stands, and the head that it leads to; `message` is a caller's, appended after it. */
export function readyStatus(task: Task, state: TaskState, message?: Message): ReadyEvent {
  const timestamp = timestampFromMs(Math.max(Date.now(), statusTimeOf(task)));
  const event = create(StreamResponseSchema, {
    payload: { case: "statusUpdate", value: { taskId: task.id, contextId: task.contextId, status: { state, timestamp } } },
  });
  const bytes = toBinary(StreamResponseSchema, event);
  return { entry: { kind: "event", mark: newMark(), bytes, content: event }, head: headAfter(task, [event], message) };
}
