/** Frames of the log as A2A messages, made once for all who read them. */
import { create } from "@bufbuild/protobuf";
import { type StreamResponse, StreamResponseSchema, type Task } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Frame } from "../core/follow.ts";
import { share, sharedForm } from "../rpc/wire-cache.ts";

/** A frame as every stream without extensions carries it: a stored event's own bytes, or the task. */
export function plainFrame(frame: Frame): StreamResponse {
  if (frame.is === "event") return share(frame.entry.event, frame.entry.bytes);
  return taskFrame(frame.snapshot.task);
}

/** A stable task as a frame. Snapshots are cached per position: so is the frame around them, and with it its encoding. */
function taskFrame(task: Task): StreamResponse {
  return sharedForm(task, "plain", () => share(create(StreamResponseSchema, { payload: { case: "task", value: task } })));
}

/** Says that a `task` event is its task's frame, its stored bytes the frame's. */
export function shareTaskFrame(event: StreamResponse, bytes: Uint8Array): void {
  if (event.payload.case === "task") sharedForm(event.payload.value, "plain", () => share(event, bytes));
}

/** The task with at most the latest `historyLength` messages: unset keeps all, 0 none. */
export function withHistory(task: Task, historyLength: number | undefined): Task {
  if (historyLength === undefined || historyLength >= task.history.length) return share(task);
  return { ...task, history: historyLength === 0 ? [] : task.history.slice(-historyLength) };
}
