/** What a send or a follow hands out: to be awaited, or to be read event by event. */
import type { Message, StreamResponse, Task } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AError } from "./a2a-error.ts";
import { artifactChunks } from "./artifact-chunks.ts";
import type { Waker } from "./pause.ts";
import type { Observed, TaskView } from "./task-view.ts";

/** One event, and what it led to. */
export interface RunEvent {
  /** What came: a status, a chunk, a message; a `task` at the beginning, and wherever a cut made the reader begin anew. */
  readonly event: StreamResponse["payload"];
  /** The task as assembled so far, this event included; it changes with the next event. Undefined for a direct message. */
  readonly task: Task | undefined;
  /** Artifacts of which a part may be missing: another server could not say what was sent while the stream was cut. */
  readonly incomplete: ReadonlySet<string>;
}

/** Everything that a run is made of. */
export interface RunInit {
  readonly source: AsyncGenerator<StreamResponse, void>;
  readonly view: TaskView;
  readonly abort: AbortController;
  /** Of the pauses of the source. */
  readonly waker: Waker;
  readonly cancel: (taskId: string) => Promise<Task>;
}

/**
 * A task that is sent or followed. It begins at once; what comes is taken only as fast as it is asked for: by awaiting the run, which
 * answers the task at rest or the agent's direct message, or by iterating it once. Who leaves an iteration early can still await the run.
 * Failures are those of the call: A2AError, UnknownOutcomeError, StillRunningError, or the reason of the signal that was given.
 */
export class TaskRun implements PromiseLike<Task | Message>, AsyncIterable<RunEvent>, AsyncDisposable {
  readonly #init: RunInit;
  readonly #source: AsyncGenerator<StreamResponse, void>;
  /** The first step, taken when the run began: after it the task is known. */
  readonly #begun: Promise<IteratorResult<StreamResponse, void>>;
  /** The same, until somebody has read it. */
  #first: Promise<IteratorResult<StreamResponse, void>> | undefined;
  #message: Message | undefined;
  #iterated = false;
  #rest: Promise<Task | Message> | undefined;

  constructor(init: RunInit) {
    this.#init = init;
    this.#source = init.source;
    this.#begun = init.source.next();
    this.#first = this.#begun;
    // Whoever asks is told; a run that nobody asks may fail unheard.
    this.#begun.catch(() => undefined);
  }

  /** The task so far; undefined before it is known, and for a direct message. */
  get task(): Task | undefined {
    return this.#init.view.task;
  }

  /** Artifacts of which a part may be missing. */
  get incomplete(): ReadonlySet<string> {
    return this.#init.view.incomplete;
  }

  /** How the task as it is here was observed last; undefined before anything came. */
  get observed(): Observed | undefined {
    return this.#init.view.observed;
  }

  /** Where the reader stands: with `task` it lets another client go on from here. Undefined where the server tells no positions. */
  get position(): string | undefined {
    return this.#init.view.position;
  }

  /** The task at rest, or the agent's direct message. Never rejects with anything else than the run failed with. */
  // oxlint-disable-next-line unicorn/no-thenable -- a run is awaited like a promise
  then<A = Task | Message, B = never>(
    onFulfilled?: ((value: Task | Message) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#rest ??= this.#toRest();
    return this.#rest.then(onFulfilled, onRejected);
  }

  /** The events, once. Leaving early ends nothing: the task goes on, and the run can be awaited. */
  [Symbol.asyncIterator](): AsyncIterator<RunEvent, undefined> {
    if (this.#iterated) throw new TypeError("a run is iterated once");
    this.#iterated = true;
    let left = false;
    return {
      next: async () => {
        const step = left ? undefined : await this.#next();
        if (step === undefined) return { done: true, value: undefined };
        return { done: false, value: { event: step.payload, task: this.task, incomplete: this.incomplete } };
      },
      return: () => {
        left = true;
        return Promise.resolve({ done: true, value: undefined });
      },
    };
  }

  /**
   * The text of an artifact while it grows: each piece once, in order. Default: of the first artifact. Uses up the iteration. Throws
   * A2AError where the agent replaces what was read already.
   */
  text(artifactId?: string): AsyncGenerator<string, void> {
    return artifactChunks(this, artifactId, ({ content }) => (content.case === "text" ? content.value : undefined));
  }

  /** As {@link text}, of the bytes of an artifact. */
  bytes(artifactId?: string): AsyncGenerator<Uint8Array, void> {
    return artifactChunks(this, artifactId, ({ content }) => (content.case === "raw" ? content.value : undefined));
  }

  /** Asks the agent to stop; answers the task as it then is. The run itself ends with the task. */
  async cancel(): Promise<Task> {
    if (this.task === undefined) await this.#begun;
    const { task } = this;
    if (task === undefined) throw new A2AError(new Error("there is no task to cancel"));
    const canceled = await this.#init.cancel(task.id);
    this.#init.waker.wake();
    return canceled;
  }

  /** Stops reading; the task goes on. */
  async close(): Promise<void> {
    this.#init.abort.abort(new A2AError(new Error("the run was closed")));
    await this.#source.return().catch(() => undefined);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #next(): Promise<StreamResponse | undefined> {
    const step = await (this.#first ?? this.#source.next());
    this.#first = undefined;
    if (step.done === true) return undefined;
    if (step.value.payload.case === "message" && this.task === undefined) this.#message = step.value.payload.value;
    return step.value;
  }

  async #toRest(): Promise<Task | Message> {
    while ((await this.#next()) !== undefined);
    const answer = this.task ?? this.#message;
    if (answer === undefined) throw new A2AError(new Error("the agent answered nothing"));
    return answer;
  }
}
