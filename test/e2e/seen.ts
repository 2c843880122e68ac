/** What readers saw, in the form in which the promises are checked. */
import assert from "node:assert/strict";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { FollowerRecord, SeenFrame } from "../../src/testing/index.ts";
import { CallFailed, type Stream } from "../bindings/callers/caller.ts";
import { positioned } from "../chaos/position.ts";

/** The first frame of a stream and the task that it is of. */
export interface First {
  readonly taskId: string;
  readonly frame: SeenFrame;
}

/** Reads the first frame of a stream that carries positions. */
export async function firstOf(stream: Stream): Promise<First> {
  const { value, done } = await stream.next();
  assert.ok(done !== true, "the stream has ended");
  const frame = positioned(value);
  const { payload } = frame.response;
  assert.ok(payload.case !== undefined && payload.case !== "message");
  return { taskId: payload.case === "task" ? payload.value.id : payload.value.taskId, frame };
}

/** Reads the rest of a stream into `frames`, to its end. Rejects where it does not end by itself. */
export async function follow(stream: Stream, { taskId, frame }: First, frames: SeenFrame[] = []): Promise<FollowerRecord> {
  frames.push(frame);
  for await (const next of stream) frames.push(positioned(next));
  return { taskId, frames, ended: true };
}

/** Reads a stream whose replica may go. */
export async function asFarAsItGoes(stream: Stream, first: First): Promise<FollowerRecord> {
  const frames: SeenFrame[] = [];
  try {
    await follow(stream, first, frames);
  } catch (error) {
    // Cut off, or told to come back.
    assert.ok(error instanceof CallFailed || (error as { code?: string }).code === "ECONNRESET", String(error));
  }
  // A stream over SSE of a replica that goes ends as if by itself.
  const last = frames.at(-1)?.response.payload;
  const whole = last?.case === "statusUpdate" && last.value.status?.state === TaskState.COMPLETED;
  return { taskId: first.taskId, frames, ended: whole };
}
