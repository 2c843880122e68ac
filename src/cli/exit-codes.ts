/** How the commands that call an agent end: every exit code in one place. */
import { isInterrupted, isTerminal, stateOf } from "../core/task.ts";
import { type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";

/** The codes by name. */
export const EXIT = { done: 0, ended: 1, usage: 2, waiting: 3, running: 4, failed: 5 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The codes as help and documents have them. */
export const EXIT_CODES: readonly (readonly [code: ExitCode, meaning: string])[] = [
  [EXIT.done, "the task is completed, the agent answered with a message, or the command did what it was told"],
  [EXIT.ended, "the task has ended otherwise: failed, rejected or canceled, as the last line says; of `accept`: it is held or rejected"],
  [EXIT.usage, "the command line is wrong"],
  [EXIT.waiting, "the task waits for you: input or authorization is required"],
  [EXIT.running, "the task is still running, or its outcome is unknown: left with Ctrl-C, timed out, or cut off for good"],
  [EXIT.failed, "the call failed: it was refused, or the agent cannot be reached"],
];

/** The table for a help text. */
export function exitHelp(): string {
  return `\nExit codes:\n${EXIT_CODES.map(([code, meaning]) => `  ${code}  ${meaning}`).join("\n")}`;
}

/** What a task that was waited for makes of the command. */
export function exitCodeOf(task: Task): ExitCode {
  const state = stateOf(task);
  if (state === TaskState.COMPLETED) return EXIT.done;
  if (isTerminal(state)) return EXIT.ended;
  return isInterrupted(state) ? EXIT.waiting : EXIT.running;
}
