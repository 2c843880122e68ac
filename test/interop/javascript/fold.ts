/** Assembles a task from the events of `@a2a-js/sdk`'s client, which leaves that to its users. */
import { type Artifact, type Message, type Part, type StreamResponse, type Task, TaskState } from "@a2a-js/sdk";
import type { ClientReport } from "../foreign-kit.ts";

export class Fold {
  #task: Task | undefined;
  #message: Message | undefined;

  take({ payload }: StreamResponse): void {
    if (payload?.$case === "task") this.#task = payload.value;
    else if (payload?.$case === "message") this.#message = payload.value;
    else if (this.#task === undefined) throw new Error(`a ${payload?.$case} came before the task`);
    else if (payload?.$case === "statusUpdate") this.#task = { ...this.#task, status: payload.value.status };
    else if (payload?.$case === "artifactUpdate" && payload.value.artifact !== undefined)
      this.#grow(payload.value.artifact, payload.value.append);
  }

  get taskId(): string {
    return this.#task?.id ?? "";
  }

  /** Pieces of the artifacts so far. */
  get pieces(): number {
    return (this.#task?.artifacts ?? []).reduce((count, { parts }) => count + parts.length, 0);
  }

  get report(): ClientReport {
    return this.#task === undefined ? { ok: true, message: textOf(this.#message?.parts) } : reportOf(this.#task);
  }

  #grow(piece: Artifact, append: boolean): void {
    const artifacts = [...(this.#task?.artifacts ?? [])];
    const at = artifacts.findIndex(({ artifactId }) => artifactId === piece.artifactId);
    const known = artifacts[at];
    if (known === undefined) artifacts.push(piece);
    else artifacts[at] = append ? { ...known, parts: [...known.parts, ...piece.parts] } : piece;
    this.#task = { ...(this.#task as Task), artifacts };
  }
}

/** What is told of a task. */
export function reportOf({ id, contextId, status, artifacts }: Task): ClientReport {
  const state = TaskState[status?.state ?? TaskState.TASK_STATE_UNSPECIFIED] ?? "";
  return { ok: true, state, artifacts: artifacts.map(({ parts }) => textOf(parts)), taskId: id, contextId };
}

/** The text of parts. */
export function textOf(parts: readonly Part[] | undefined): string {
  return (parts ?? []).map(({ content }) => (content?.$case === "text" ? content.value : "")).join("");
}
