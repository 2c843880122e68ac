/** What the tests of the worker share: short agents, and events in a form that reads well. */
import { type Message, type Part, type StreamResponse, type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Agent, Turn } from "../../src/core/agent.ts";
import { type AgentEvent, artifact, textPart } from "../../src/core/events.ts";
import type { Entry } from "../../src/core/log-entry.ts";
import type { Log } from "../../src/core/telemetry.ts";
import type { AgentHarness } from "../../src/testing/index.ts";

/** An agent of one function. */
export function agentOf(run: (turn: Turn) => AsyncIterable<AgentEvent>, more: Partial<Agent> = {}): Agent {
  return { card: { name: "test", description: "", version: "1" }, run, ...more };
}

/** A text artifact. */
export function text(artifactId: string, value: string, append = false): AgentEvent {
  return artifact({ artifactId, parts: [textPart(value)] }, { append });
}

/** One event: `task SUBMITTED`, `WORKING`, `FAILED: why`, `a = text`, `a += text`. */
function shown({ payload }: StreamResponse): string {
  if (payload.case === "task") return `task ${stateName(payload.value)}`;
  if (payload.case === "statusUpdate") {
    const said = textIn(payload.value.status?.message);
    const state = nameOf(payload.value.status?.state);
    return said === "" ? state : `${state}: ${said}`;
  }
  if (payload.case !== "artifactUpdate") return "message";
  const { artifact: chunk, append } = payload.value;
  return `${chunk?.artifactId} ${append ? "+=" : "="} ${chunk?.parts[0] === undefined ? "" : textOf(chunk.parts[0])}`;
}

/** All events of a stream, to its end. */
export async function read(events: AsyncIterable<StreamResponse>): Promise<string[]> {
  const seen: string[] = [];
  for await (const event of events) seen.push(shown(event));
  return seen;
}

/** Entries of a log as {@link shown} has them; commands by their kind, memos without what they say. */
export function shownLog(entries: readonly Entry[]): string[] {
  return entries.map((entry) => {
    if (entry.kind === "event") return shown(entry.event);
    return entry.kind === "memo" ? "(memo)" : `(${entry.command.kind.case})`;
  });
}

/** Resolves when the log holds this line, as {@link shownLog} has it: a turn goes on before what it yielded is stored. */
export async function stored(harness: AgentHarness, taskId: string, line: string): Promise<void> {
  while (!shownLog(await harness.log(taskId)).includes(line)) await new Promise((resolve) => setImmediate(resolve));
}

/** The state's name. */
export function stateName(task: Task): string {
  return nameOf(task.status?.state);
}

function nameOf(state: TaskState | undefined): string {
  return Object.entries(TaskState).find(([, value]) => value === state)?.[0] ?? "none";
}

/** The text of the task's status message. */
export function saidBy(task: Task): string {
  return textIn(task.status?.message);
}

/** The text of a message. */
export function textIn(message: Message | undefined): string {
  const part = message?.parts[0];
  return part === undefined ? "" : textOf(part);
}

/** Texts of the history, oldest first. */
export function history(task: Pick<Task, "history">): string[] {
  return task.history.map(textIn);
}

/** All texts of an artifact. */
export function content(task: Task, artifactId: string): string {
  return (task.artifacts.find((one) => one.artifactId === artifactId)?.parts ?? []).map(textOf).join("");
}

function textOf({ content: { case: kind, value } }: Part): string {
  return kind === "text" ? value : `(${kind})`;
}

/** Something to wait for. */
export class Gate {
  readonly #gate = Promise.withResolvers<void>();

  get opened(): Promise<void> {
    return this.#gate.promise;
  }

  open = (): void => this.#gate.resolve();
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true });
  return promise;
}

/** A log that keeps what it is told. */
export class KeptLog implements Log {
  readonly lines: { readonly message: string; readonly facts: Readonly<Record<string, unknown>> }[] = [];
  info = (facts: Readonly<Record<string, unknown>>, message: string): void => void this.lines.push({ facts, message });
  warn = this.info;
  error = this.info;
}
