/** A run of `throughline/client` as its user sees it: every event with its place, and what it ended with. */
import { clone } from "@bufbuild/protobuf";
import { type StreamResponse, StreamResponseSchema, type Task, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AError } from "../../src/client/a2a-error.ts";
import type { Cut } from "../../src/client/come-back.ts";
import type { TaskRun } from "../../src/client/task-run.ts";
import { isTask } from "../../src/client/task-view.ts";
import { parsePosition, type Position } from "../../src/core/log-entry.ts";
import type { Followed, SeenFrame, Visit } from "./follower.ts";
import type { Passage } from "./passages.ts";

/** What a run was in the end. */
export interface ClientRunEnd extends Followed {
  /** How it was asked for. */
  readonly what: string;
  /** The task as GetTask told it in the run's course, and after which frame. */
  readonly reads: readonly { readonly task: Task; readonly after: number }[];
  /** The task that the run answered. */
  readonly rest: Task | undefined;
  /** Artifacts of which the client says that a part may be missing. */
  readonly incomplete: readonly string[];
  /** What it ended with where it did not end with a task. */
  readonly failure: string | undefined;
}

/** Reads a run to its end. */
export class ClientRun implements ClientRunEnd {
  readonly what: string;
  readonly frames: SeenFrame[] = [];
  readonly visits: Visit[] = [];
  readonly reads: { task: Task; after: number }[] = [];
  readonly incomplete: string[] = [];
  /** Resolves with the task's id when it is known, or undefined where the run has failed before. */
  readonly known: Promise<string | undefined>;
  /** Resolves when the run has ended, whatever it ended with. */
  readonly done: Promise<void>;
  readonly #run: TaskRun;
  readonly #passage: Passage;
  readonly #known = Promise.withResolvers<string | undefined>();
  #rest: Task | undefined;
  #error: Error | undefined;

  constructor(what: string, run: TaskRun, passage: Passage) {
    this.what = what;
    this.#run = run;
    this.#passage = passage;
    this.known = this.#known.promise;
    this.#visit();
    this.done = this.#read();
  }

  get taskId(): string {
    return this.#run.task?.id ?? "";
  }

  get state(): Followed["state"] {
    return this.#rest === undefined ? "open" : "ended";
  }

  get rest(): Task | undefined {
    return this.#rest;
  }

  get failure(): string | undefined {
    return this.#error === undefined ? undefined : String(this.#error);
  }

  /** The server's reason, where the run was refused. */
  get refusal(): string | undefined {
    return this.#error instanceof A2AError ? this.#error.reason : undefined;
  }

  cancel(): Promise<Task> {
    return this.#run.cancel();
  }

  async #read(): Promise<void> {
    const cut = ({ taskId }: Cut): void => {
      if ((taskId ?? "") === this.taskId) this.#visit();
    };
    this.#passage.listeners.add(cut);
    try {
      for await (const { event } of this.#run) this.#see(event);
      const answer = await this.#run;
      if (!isTask(answer)) throw new TypeError("the run answered a message");
      this.#rest = clone(TaskSchema, answer);
      this.incomplete.push(...this.#run.incomplete);
    } catch (error) {
      this.#error = error as Error;
    } finally {
      this.#passage.listeners.delete(cut);
      this.#close("ended");
      this.#known.resolve(this.#run.task?.id);
    }
  }

  #see(payload: StreamResponse["payload"]): void {
    // What is handed out belongs to the client: it may change with the next event.
    const response = clone(StreamResponseSchema, { $typeName: "lf.a2a.v1.StreamResponse", payload });
    const position = this.#position();
    if (position !== undefined) this.frames.push({ response, position, visit: this.visits.length - 1, at: Date.now() });
    else if (response.payload.case === "task") this.reads.push({ task: response.payload.value, after: this.frames.length });
    else throw new TypeError(`an event without a position: ${payload.case}`);
    this.#known.resolve(this.#run.task?.id);
  }

  #position(): Position | undefined {
    const { position } = this.#run;
    return position === undefined ? undefined : parsePosition(position.slice(position.lastIndexOf("/") + 1));
  }

  /** From here on it reads over another connection. */
  #visit(): void {
    this.#close("cut");
    const from = this.visits.length === 0 ? undefined : this.#position();
    this.visits.push({ replica: "", binding: this.#passage.binding, from, opened: Date.now(), closed: 0, end: "open" });
  }

  #close(end: string): void {
    const last = this.visits.at(-1);
    if (last === undefined) return;
    last.closed = Date.now();
    last.end = end;
  }
}
