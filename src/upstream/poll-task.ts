/** Reads a task by asking for it every so often: for an upstream that does not stream, or whose streams cannot be picked up again. */
import type { A2AClient, CallOptions, RunEvent } from "../client/index.ts";
import { pause } from "../core/pause.ts";
import { isTerminal, stateOf } from "../core/task.ts";
import type { Readable } from "./reading.ts";

const NONE: ReadonlySet<string> = new Set();

/** What is told of a task each time, changed or not, until it has ended. Fails as GetTask does. */
export function pollTask(client: A2AClient, taskId: string, extras: CallOptions, intervalMs: number): Readable {
  const closed = new AbortController();
  const { signal } = closed;
  async function* events(): AsyncGenerator<RunEvent, void> {
    while (!signal.aborted) {
      const task = await client.getTask(taskId, { ...extras, signal });
      yield { event: { case: "task", value: task }, task, incomplete: NONE };
      if (isTerminal(stateOf(task))) return;
      await pause(intervalMs, signal);
    }
  }
  return {
    [Symbol.asyncIterator]: events,
    close: async () => closed.abort(),
  };
}
