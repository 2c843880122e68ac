/** Follows a task to its rest, however often the stream is cut (requirements 5.3). */
import { Code } from "@connectrpc/connect";
import type { StreamResponse, Task } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AError, isTransient, StillRunningError, UnknownOutcomeError } from "./a2a-error.ts";
import type { CallExtras, Connection } from "./connection.ts";
import { comeBack, isPatienceOver } from "./come-back.ts";
import type { Waker } from "./pause.ts";
import { ofTask, type TaskView } from "./task-view.ts";

/** One task and its reader. */
export interface Following {
  readonly connection: Connection;
  readonly taskId: string;
  /** What the reader has; frames are folded into it before they are yielded. */
  readonly view: TaskView;
  readonly signal: AbortSignal;
  /** Ends its pauses early. */
  readonly waker: Waker;
  /** Goes with every call. */
  readonly extras: CallExtras;
  /** Default `rest`. `terminal`: it is followed through the states in which it waits for its caller. */
  readonly until?: Until | undefined;
}

/** Where a reader stops: at any state of rest, or at a terminal one (CL-07). */
export type Until = "rest" | "terminal";

/** A frame of a task, already folded in. */
export type Followed = StreamResponse;

/**
 * Subscribes, and subscribes again after every cut: by position where the server tells positions, else from a fresh snapshot. Ends when the
 * task is at rest, or where `until` says (CL-05, CL-07). `lost`: the stream that was cut before, if there was one. Throws {@link UnknownOutcomeError},
 * {@link StillRunningError} after too many attempts in a row, and A2AError for what no attempt mends.
 */
export async function* follow(following: Following, lost?: { readonly cause: A2AError | undefined }): AsyncGenerator<Followed, void> {
  const { connection, taskId, view, signal, waker } = following;
  const { options } = connection;
  let cause = lost?.cause;
  // Streams lost in a row, and how many of them had brought nothing.
  let losses = lost === undefined ? 0 : 1;
  for (let fruitless = 0; fruitless < options.reconnect.attempts;) {
    if (cause !== undefined && isPatienceOver(options, cause)) break;
    if (losses > 0) await comeBack(options, { taskId, losses, cause, signal, waker });
    losses += 1;
    fruitless += 1;
    try {
      let known: string | undefined = fingerprint(view.task);
      for await (const frame of subscribe(following)) {
        fruitless = 0;
        view.add(frame);
        // Some servers show the task as it is, and end: they are not asked more and more often what has become of it.
        if (known === undefined || known !== fingerprint(view.task)) losses = 1;
        known = undefined;
        yield frame;
        if (isOver(following)) {
          yield* fillGaps(following);
          return;
        }
      }
      cause = undefined;
    } catch (thrown) {
      if (!(thrown instanceof A2AError)) throw thrown;
      // CL-10, CL-11: it is over, or nobody runs it there, or the server does not stream; GetTask knows which.
      if (thrown.reason === "UNSUPPORTED_OPERATION" || thrown.reason === "TASK_NOT_FOUND") break;
      if (!isTransient(thrown) && thrown.code !== Code.Internal && thrown.code !== Code.Unknown) {
        yield* restDespite(following, thrown);
        return;
      }
      cause = thrown;
    }
  }
  const task = await lastWord(following);
  yield taskFrame(task);
  if (!isOver(following)) throw new StillRunningError(cause ?? new Error("no stream stays open"), task);
}

/** Has GetTask tell what the streams of a task at rest have left out (5.4). Where it cannot, what came is all there is. */
export async function* fillGaps(following: Following): AsyncGenerator<Followed, void> {
  if (!following.view.hasGaps) return;
  try {
    yield taskFrame(await lastWord(following));
  } catch (error) {
    if (!(error instanceof A2AError)) throw error;
  }
}

/**
 * A stream that ends with an error does not say how its task ends: GetTask does, where the task is over, as that of an agent whose own
 * error the stream has passed on. Throws the stream's error where it is not, or cannot be read.
 */
export async function* restDespite(following: Following, error: A2AError): AsyncGenerator<Followed, void> {
  const task = await lastWord(following).catch(() => {
    following.waker.throwIfOver(following.signal);
    throw error;
  });
  if (!following.view.terminal) throw error;
  yield taskFrame(task);
}

function taskFrame(task: Task): Followed {
  return { $typeName: "lf.a2a.v1.StreamResponse", payload: { case: "task", value: task } };
}

function isOver({ view, until }: Following): boolean {
  return until === "terminal" ? view.terminal : view.atRest;
}

/** One stream of the task, from where its reader stands. */
function subscribe({ connection, taskId, view, signal, extras }: Following): AsyncIterable<StreamResponse> {
  const { lastEventId } = view;
  // Headers hold bytes: text goes as that of its UTF-8.
  const resume = lastEventId === undefined ? {} : { "last-event-id": Buffer.from(lastEventId).toString("latin1") };
  const headers = { ...extras.headers, ...resume };
  return connection.stream({ ...extras, signal, headers }, ({ calls, tenant, options }) =>
    calls.subscribeToTask({ id: taskId, tenant }, options),
  );
}

/** The task as GetTask tells it, folded in. */
async function lastWord({ connection, taskId, view, signal, extras }: Following): Promise<Task> {
  try {
    const task = await connection.call({ ...extras, signal, repeatable: true }, ({ calls, tenant, options }) =>
      calls.getTask({ id: taskId, tenant }, options),
    );
    view.replace(ofTask(taskId, task));
    return task;
  } catch (error) {
    if (error instanceof A2AError && error.reason === "TASK_NOT_FOUND")
      throw new UnknownOutcomeError(error, { taskId, contextId: view.task?.contextId });
    throw error;
  }
}

/**
 * Reads the task every so often until it is at rest; yields it where it has changed. `before`: {@link statusMark} of a task that waited for
 * the message which is followed; with that status it is not at rest yet (C-38).
 */
export async function* poll(following: Following, before?: string): AsyncGenerator<Followed, void> {
  const { connection, view, signal, waker } = following;
  let failures = 0;
  let shown = fingerprint(view.task);
  while (!view.atRest || statusMark(view.task) === before) {
    await waker.pause(connection.options.pollIntervalMs, signal);
    try {
      const task = await lastWord(following);
      failures = 0;
      const now = fingerprint(task);
      if (now !== shown) yield taskFrame(task);
      shown = now;
    } catch (error) {
      if (!(error instanceof A2AError) || !isTransient(error)) throw error;
      failures += 1;
      const known = view.task;
      if (failures >= connection.options.reconnect.attempts) throw known === undefined ? error : new StillRunningError(error, known);
    }
  }
}

/** What a reader would notice of a task. */
function fingerprint(task: Task | undefined): string {
  if (task === undefined) return "";
  const parts = task.artifacts.map(({ artifactId, parts: all }) => `${artifactId}:${all.length}`);
  return [statusMark(task), task.history.length, ...parts].join("|");
}

/** Tells a status from every other one of its task. */
export function statusMark(task: Task | undefined): string {
  const { state, timestamp, message } = task?.status ?? {};
  return [state, timestamp?.seconds, timestamp?.nanos, message?.messageId].join("|");
}
