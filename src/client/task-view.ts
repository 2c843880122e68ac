/** A task as its reader has assembled it so far, and where in its log the reader stands. */
import { type JsonObject, type JsonValue, isMessage } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { type StreamResponse, type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { lastEventIdOf } from "../bindings/transport.ts";
import { apply, copyTask, isAtRest, isTerminal, stateOf } from "../core/task.ts";
import { A2AError } from "./a2a-error.ts";

/** Key of a frame's position in its metadata: docs/extensions.md. */
export const LOG_URI = "urn:throughline:a2a:log:v1";

/** How its reader came to what it knows of a task last: told whole, event by event, or by GetTask. `at` in milliseconds since 1970. */
export interface Observed {
  readonly by: "snapshot" | "stream" | "get-task";
  readonly at: number;
}

/** Folds frames (requirements 5.4). */
export class TaskView {
  #task: Task | undefined;
  #position: string | undefined;
  #eventId: string | undefined;
  readonly #incomplete = new Set<string>();
  /** Whether it began with the task as a whole, not with what came of it. */
  #isWhole: boolean;
  #observed: Observed | undefined;
  readonly #taskId: string;

  /** `taskId`: of the task that is meant, where that is known. `known`: what a reader has read of it before. */
  constructor(taskId = "", known?: { readonly task: Task; readonly position: string }) {
    this.#taskId = taskId;
    this.#task = known && copyTask(known.task);
    this.#position = known?.position;
    this.#isWhole = known !== undefined;
  }

  /** The task so far; it changes with the next frame. Undefined before the first one. */
  get task(): Task | undefined {
    return this.#task;
  }

  /** `<taskId>/<offset>.<mark>` of the last frame, where the server tells positions. */
  get position(): string | undefined {
    return this.#position;
  }

  /** What a reader that comes back tells the server: its position, or else the id that the last event had on its way. */
  get lastEventId(): string | undefined {
    return this.#position ?? this.#eventId;
  }

  /** Artifacts of which a part may be missing (CL-23). */
  get incomplete(): ReadonlySet<string> {
    return this.#incomplete;
  }

  /** Whether something may be missing that GetTask can tell: no `task` frame came, or an artifact's beginning did not (5.4). */
  get hasGaps(): boolean {
    return this.#task !== undefined && (!this.#isWhole || this.#incomplete.size > 0);
  }

  /** Undefined before anything came. */
  get observed(): Observed | undefined {
    return this.#observed;
  }

  get state(): TaskState {
    return this.#task === undefined ? TaskState.UNSPECIFIED : stateOf(this.#task);
  }

  get atRest(): boolean {
    return isAtRest(this.state);
  }

  get terminal(): boolean {
    return isTerminal(this.state);
  }

  /**
   * Takes a frame. A `task` frame replaces everything (CL-08); the position that it may carry is taken out of it. Throws A2AError for one of
   * another task.
   */
  add(frame: StreamResponse): void {
    const { payload } = frame;
    if (payload.case === undefined || payload.case === "message") return;
    const taskId = payload.case === "task" ? payload.value.id : payload.value.taskId;
    checkTaskId(this.#task?.id ?? this.#taskId, taskId);
    const at = takePosition(payload.value);
    this.#position = at === undefined ? undefined : `${taskId}/${at}`;
    this.#eventId = lastEventIdOf(frame);
    if (payload.case === "task") {
      this.#incomplete.clear();
      this.#isWhole = true;
    }
    this.#observed = { by: payload.case === "task" ? "snapshot" : "stream", at: Date.now() };
    const { task, note } = apply(this.#task, frame);
    this.#task = task;
    if (note?.is === "incomplete") this.#incomplete.add(note.artifactId);
  }

  /** Takes the task as GetTask tells it. */
  replace(task: Task): void {
    this.#task = task;
    this.#observed = { by: "get-task", at: Date.now() };
    this.#position = undefined;
    this.#eventId = undefined;
    this.#incomplete.clear();
    this.#isWhole = true;
  }
}

/** A task as a server has answered it. Throws A2AError where it is not the one that was asked for. */
export function ofTask(taskId: string, task: Task): Task {
  checkTaskId(taskId, task.id);
  return task;
}

/** No attempt mends it. A name that is left out is no other one. */
function checkTaskId(right: string, told: string): void {
  if (right === "" || told === "" || told === right) return;
  throw new A2AError(new ConnectError(`the agent tells of another task, ${told}, than of ${right}`, Code.DataLoss));
}

function takePosition(value: { metadata?: JsonObject | undefined }): string | undefined {
  const { metadata } = value;
  const held: JsonValue | undefined = metadata?.[LOG_URI];
  if (metadata === undefined || held === undefined) return undefined;
  // Every frame comes by here, most with nothing else; and an object that loses a member is slow from then on.
  if (Object.keys(metadata).length === 1) value.metadata = undefined;
  else {
    const { [LOG_URI]: _, ...rest } = metadata;
    value.metadata = rest;
  }
  const position = typeof held === "object" && held !== null && !Array.isArray(held) ? held["position"] : undefined;
  return typeof position === "string" ? position : undefined;
}

/** Whether a reply is a task, not a message. */
export function isTask(reply: { $typeName: string }): reply is Task {
  return isMessage(reply) && reply.$typeName === "lf.a2a.v1.Task";
}
