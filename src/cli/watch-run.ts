/** Shows a run to its end, or until its user leaves it; says how to go on. */
import {
  type A2AClient,
  A2AError,
  type ClientOptionsInput,
  StillRunningError,
  type TaskRun,
  UnknownOutcomeError,
} from "../client/index.ts";
import { isInterrupted, stateOf } from "../core/task.ts";
import type { AgentCall } from "./agent-command.ts";
import { EXIT, exitCodeOf, type ExitCode } from "./exit-codes.ts";
import { failureText, isTimeout, reportFailure } from "./failures.ts";
import { onInterrupts } from "./interrupts.ts";
import { isBrokenPipe, say } from "./output.ts";
import { JsonPrinter, PeoplePrinter, type RunPrinter } from "./run-printer.ts";

/** A run to be shown. */
export interface Watched {
  readonly call: AgentCall<object>;
  readonly begin: (client: A2AClient, signal: AbortSignal) => TaskRun;
  /** Of the client. */
  readonly options?: ClientOptionsInput;
  /** Of the task, where it is known before anything comes. */
  readonly taskId?: string | undefined;
  /** Whether nothing is heard of the task before it is at rest. */
  readonly blocks?: boolean;
  /** Of the message, where one is sent. */
  readonly messageId?: string;
}

/** The user does not wait any longer. */
class Left extends Error {}

/** Shows a run; answers how the command ends. Throws what was refused before there was a task. */
export async function watchRun(watched: Watched): Promise<ExitCode> {
  const { call } = watched;
  const printer = call.flags.json ? new JsonPrinter() : new PeoplePrinter();
  let lost = false;
  const reconnecting = (): void => {
    if (!lost) say("connection lost, coming back", { dim: true });
    lost = true;
  };
  const client = await call.connect({ ...watched.options, reconnecting });
  const leave = new AbortController();
  await using run = watched.begin(client, AbortSignal.any([leave.signal, call.signal]));
  const canceling = new Canceling(client, leave);
  using _ = onInterrupts({
    hint: (ms) => say(`leaving in ${ms / 1000} s, the task goes on; Ctrl-C again cancels it`),
    leave: () => leave.abort(new Left()),
    cancel: () => {
      const taskId = run.task?.id ?? watched.taskId;
      if (taskId === undefined && watched.blocks === true) {
        say("a task that is waited for with --wait block is not known before it is at rest, and cannot be canceled: leaving");
        leave.abort(new Left());
        return;
      }
      say("canceling; Ctrl-C again leaves at once");
      canceling.want(taskId);
    },
  });
  try {
    for await (const event of run) {
      lost = false;
      canceling.heard(run.task?.id);
      await printer.event(event);
    }
    const reply = await run;
    await printer.end(reply, run.incomplete);
    if (reply.$typeName !== "lf.a2a.v1.Task") return EXIT.done;
    if (isInterrupted(stateOf(reply))) say(`answer: ${call.again("send", "--task", reply.id, "ANSWER")}`);
    return exitCodeOf(reply);
  } catch (error) {
    return await afterFailure(error, watched, { run, printer });
  } finally {
    // A cancel that has no reply yet needs none any more.
    leave.abort(new Left());
  }
}

/** Cancels the task of a run, once it is known. */
class Canceling {
  readonly #client: A2AClient;
  readonly #leave: AbortController;
  #wanted = false;
  #asked = false;

  constructor(client: A2AClient, leave: AbortController) {
    this.#client = client;
    this.#leave = leave;
  }

  want(taskId: string | undefined): void {
    this.#wanted = true;
    this.heard(taskId);
  }

  heard(taskId: string | undefined): void {
    if (!this.#wanted || this.#asked || taskId === undefined) return;
    this.#asked = true;
    const { signal } = this.#leave;
    this.#client.cancelTask(taskId, { signal }).catch((error: unknown) => {
      // The run tells how a task has ended that had ended already.
      if (signal.aborted || (error instanceof A2AError && error.reason === "TASK_NOT_CANCELABLE")) return;
      say(`it is not canceled: ${failureText(error)}`);
      this.#leave.abort(new Left());
    });
  }
}

/** A run that was left, or that failed: says what is known, and how to come back. */
async function afterFailure(
  thrown: unknown,
  { call, taskId, messageId }: Watched,
  { run, printer }: { readonly run: TaskRun; readonly printer: RunPrinter },
): Promise<ExitCode> {
  const { task, incomplete } = run;
  const left = thrown instanceof Left || isTimeout(thrown) || isBrokenPipe(thrown);
  const unknown = thrown instanceof UnknownOutcomeError && (task !== undefined || messageId !== undefined);
  const open = left || unknown || thrown instanceof StillRunningError;
  if (!open && task === undefined) throw thrown instanceof UnknownOutcomeError ? thrown.cause : thrown;
  if (isTimeout(thrown)) say("the time that --timeout gives is over");
  if (!left) await reportFailure(thrown, { json: call.flags.json === true });
  await printer.end(task, incomplete).catch(() => undefined);
  const id = task?.id ?? taskId ?? (unknown ? thrown.taskId : undefined);
  if (isGone(thrown)) return open ? EXIT.running : EXIT.failed;
  if (id !== undefined) say(`come back: ${call.again("follow", id)}`);
  else
    say(
      `no task was heard of, and there may be one. Where agents know repeats, the same message is the same task: --message-id ${messageId}`,
    );
  return open ? EXIT.running : EXIT.failed;
}

/** Whether the agent knows no such task: there is none to come back to. */
function isGone(thrown: unknown): boolean {
  const told = thrown instanceof UnknownOutcomeError ? thrown.cause : thrown;
  return told instanceof A2AError && told.reason === "TASK_NOT_FOUND";
}
