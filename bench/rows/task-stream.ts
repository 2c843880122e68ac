/** Checks and steps that several rows share. */
import type { Driver } from "../drivers/driver.ts";
import type { StreamCall } from "../drivers/stream-call.ts";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { repeat } from "./repeat.ts";

/** Frames around the updates of a whole stream: task, working, completed. */
export const FRAMES_AROUND = 3;

/** Waits for the end of a stream and throws unless it had exactly so many frames, the last one COMPLETED. */
export async function completeWith(driver: Driver, call: StreamCall, frames: number): Promise<void> {
  await call.ended;
  if (call.frames !== frames) throw new Error(`a stream had ${call.frames} frames instead of ${frames}`);
  const { payload } = driver.event(call.last);
  const state = payload.case === "statusUpdate" ? payload.value.status?.state : undefined;
  if (state !== TaskState.COMPLETED) throw new Error(`a stream ended with ${payload.case ?? "nothing"} ${state ?? ""}`);
}

const SHORT_EVENTS = 3;
/** What a short send says. */
export const SHORT_SEND: string = `events=${SHORT_EVENTS} kind=artifact`;

/** A short send: a task of three updates, read to its end. */
export function shortSend(driver: Driver, call: StreamCall = driver.send(SHORT_SEND)): Promise<void> {
  return completeWith(driver, call, SHORT_EVENTS + FRAMES_AROUND);
}

/** A task that shows WORKING and makes no update yet. */
export interface WorkingTask {
  readonly id: string;
  /** The stream that began it. */
  readonly call: StreamCall;
}

/** Begins a task and waits until its stream has shown WORKING. */
export async function beginTask(
  driver: Driver,
  text: string,
  watch: (frame: Buffer, index: number) => void = () => {},
): Promise<WorkingTask> {
  const working = Promise.withResolvers<void>();
  const call = driver.send(text, (frame, index) => {
    if (index === 1) working.resolve();
    watch(frame, index);
  });
  call.ended.then(() => working.reject(new Error("the stream ended early")), working.reject);
  await working.promise;
  const { payload } = driver.event(await call.opened);
  if (payload.case !== "task") throw new Error(`the first frame is ${payload.case ?? "nothing"} instead of a task`);
  return { id: payload.value.id, call };
}

/** Opens `count` streams on a task, some at a time, and waits for the first frame of each. */
export async function subscribeMany(driver: Driver, taskId: string, count: number): Promise<StreamCall[]> {
  const calls: StreamCall[] = [];
  await repeat({ workers: 50, ms: 60_000, max: count }, async () => {
    const call = driver.subscribe(taskId);
    calls.push(call);
    await call.opened;
  });
  if (calls.length !== count) throw new Error(`only ${calls.length} of ${count} streams were opened in time`);
  return calls;
}
