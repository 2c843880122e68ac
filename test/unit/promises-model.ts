/** A run of the service with everything that can happen to it, step by step. */
import assert from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import { type StreamResponse, StreamResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Agent, Turn } from "../../src/core/agent.ts";
import { RefusedError, TaskError } from "../../src/core/errors.ts";
import { type AgentEvent, artifact, completed, failed, inputRequired, textPart, working } from "../../src/core/events.ts";
import { Fold } from "../../src/core/fold.ts";
import { Follower, type Frame } from "../../src/core/follow.ts";
import { type Entry, type Position, START } from "../../src/core/log-entry.ts";
import { Snapshots } from "../../src/core/snapshots.ts";
import { isAtRest, stateOf } from "../../src/core/task.ts";
import {
  type AgentHarness,
  checkPromises,
  type FollowerRecord,
  type SeenFrame,
  type TaskHandle,
  type TaskRecord,
  testAgent,
} from "../../src/testing/index.ts";

/** What the agent is told to do next on a task. */
export const INSTRUCTIONS = [
  "append",
  "replace",
  "burst",
  "working",
  "ask",
  "ask and wait",
  "complete",
  "fail",
  "throw",
  "return",
] as const;
type Instruction = (typeof INSTRUCTIONS)[number];

/** What happens next. Numbers choose a task or a reader among those that there are. */
export type Action =
  | { readonly is: "send" | "drain" | "sweep" | "tick" }
  | { readonly is: "tell"; readonly on: number; readonly what: Instruction }
  | { readonly is: "follow up" | "cancel" | "take over" | "checkpoint" | "subscribe" | "from start"; readonly on: number }
  | { readonly is: "read" | "cut" | "resume"; readonly reader: number };

/** How a run is set up. */
export interface RunInit {
  readonly resumable: boolean;
  readonly acceptsMessages: boolean;
  readonly capacity: number;
  readonly windowEntries: number;
}

const HISTORY_LIMIT = 6;
const MAX_TASKS = 3;

/** Carries out the actions, lets everything come to rest, and answers what promises were broken. */
export async function runModel(init: RunInit, actions: readonly Action[]): Promise<string[]> {
  const script = new Script();
  await using harness = await testAgent(script.agent(init), {
    capacity: init.capacity,
    windowEntries: init.windowEntries,
    historyLimit: HISTORY_LIMIT,
    dedupe: { mode: "off" },
    renewMs: 3_600_000,
    workingAfterMs: 3_600_000,
    maxAttempts: 2,
    drainMs: 1,
  });
  const run = new ModelRun(harness, script);
  for (const action of actions) await run.act(action);
  return await run.finish();
}

/** What the agent does, told from outside. */
class Script {
  readonly given = new Set<string>();
  readonly #waiting = new Map<string, Instruction[]>();
  /** Turns that wait for an instruction; more than one where an old owner does not know yet that it is one. */
  readonly #wake = new Set<() => void>();
  #count = 0;

  tell(taskId: string, what: Instruction): void {
    const queue = this.#waiting.get(taskId) ?? [];
    this.#waiting.set(taskId, [...queue, what]);
    for (const wake of this.#wake) wake();
    this.#wake.clear();
  }

  /** Whether the agent has done all that it was told. */
  idle(taskId: string): boolean {
    return (this.#waiting.get(taskId)?.length ?? 0) === 0;
  }

  agent({ resumable, acceptsMessages }: RunInit): Agent {
    return { card: { name: "script", description: "", version: "1" }, resumable, acceptsMessages, run: (turn) => this.#run(turn) };
  }

  async *#run(turn: Turn): AsyncGenerator<AgentEvent> {
    this.given.add(turn.message.messageId);
    for (;;) {
      const what = await this.#next(turn);
      if (what === undefined || what === "return") return;
      if (what === "throw") throw new Error("told to");
      if (what === "burst") for (let count = 0; count < 5; count += 1) yield this.#chunk(true);
      else yield this.#event(what);
      if (what === "ask") return;
      if (what !== "ask and wait") continue;
      const message = await turn.next();
      if (message === undefined) return;
      this.given.add(message.messageId);
    }
  }

  async #next({ taskId, signal }: Turn): Promise<Instruction | undefined> {
    while (!signal.aborted) {
      const [what, ...others] = this.#waiting.get(taskId) ?? [];
      if (what !== undefined) {
        this.#waiting.set(taskId, others);
        return what;
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake.add(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
      await promise;
    }
    return undefined;
  }

  #event(what: Exclude<Instruction, "throw" | "return" | "burst">): AgentEvent {
    this.#count += 1;
    if (what === "append" || what === "replace") return this.#chunk(what === "append");
    if (what === "working") return working(`progress ${this.#count}`);
    if (what === "complete") return completed(`done ${this.#count}`);
    if (what === "fail") return failed();
    return inputRequired(`question ${this.#count}`);
  }

  #chunk(append: boolean): AgentEvent {
    this.#count += 1;
    return artifact({ artifactId: `a${this.#count % 2}`, parts: [textPart(`${this.#count}`)] }, { append });
  }
}

/** A reader that may be cut and may come back. */
class Reader {
  readonly taskId: string;
  readonly frames: SeenFrame[] = [];
  readonly #harness: AgentHarness;
  #follower: Follower<SeenFrame>;
  #asking = false;
  #cut = false;
  ended = false;

  constructor(harness: AgentHarness, taskId: string, from: Position | Awaited<ReturnType<Snapshots["read"]>>) {
    this.#harness = harness;
    this.taskId = taskId;
    this.#follower = this.#open(from);
  }

  /** Reads what is there now. */
  async read(): Promise<void> {
    for (let idle = 0; idle < 2 && !this.#cut && !this.ended; idle += 1) {
      const { length } = this.frames;
      if (!this.#asking) void this.#ask(this.#follower);
      await tick();
      if (this.frames.length > length) idle = -1;
    }
  }

  cut(): void {
    this.#cut = true;
    this.#asking = false;
    void this.#follower.return();
  }

  resume(): void {
    const last = this.frames.at(-1)?.position;
    if (!this.#cut || last === undefined || this.ended) return;
    this.#cut = false;
    this.#follower = this.#open(last);
  }

  record(): FollowerRecord {
    return { taskId: this.taskId, frames: this.frames, ended: this.ended };
  }

  #open(from: Position | Awaited<ReturnType<Snapshots["read"]>>): Follower<SeenFrame> {
    const { storage } = this.#harness;
    const snapshots = new Snapshots(storage, { cacheBytes: 1 << 20, historyLimit: HISTORY_LIMIT });
    return new Follower({ storage, snapshots, taskId: this.taskId, from, project: seen, signal: new AbortController().signal });
  }

  async #ask(follower: Follower<SeenFrame>): Promise<void> {
    this.#asking = true;
    const { done, value } = await follower.next();
    // What a reader that was cut had asked for never reached it.
    if (follower !== this.#follower || this.#cut) return;
    this.#asking = false;
    if (done === true) this.ended = true;
    else this.frames.push(value);
  }
}

class ModelRun {
  readonly #harness: AgentHarness;
  readonly #script: Script;
  readonly #handles: TaskHandle[] = [];
  readonly #readers: Reader[] = [];
  readonly #background: Promise<unknown>[] = [];

  constructor(harness: AgentHarness, script: Script) {
    this.#harness = harness;
    this.#script = script;
  }

  async act(action: Action): Promise<void> {
    try {
      await this.#act(action);
    } catch (error) {
      // A refusal is an answer. Anything else is a bug.
      const refusal = error instanceof TaskError || error instanceof RefusedError || /nobody owns/.test(String(error));
      if (!refusal) throw error;
    }
  }

  async #act(action: Action): Promise<void> {
    if ("on" in action) {
      const handle = this.#handles[action.on % Math.max(1, this.#handles.length)];
      return handle === undefined ? undefined : this.#onTask(handle, action);
    }
    if ("reader" in action) {
      const reader = this.#readers[action.reader % Math.max(1, this.#readers.length)];
      if (action.is === "read") return reader?.read();
      return action.is === "cut" ? reader?.cut() : reader?.resume();
    }
    if (action.is === "send") return this.#send();
    if (action.is === "drain") return this.#harness.drain();
    if (action.is === "sweep") return void (await this.#harness.storage.sweep());
    return tick();
  }

  async #onTask(handle: TaskHandle, action: Extract<Action, { on: number }>): Promise<void> {
    const { taskId } = handle;
    if (action.is === "tell") return this.#script.tell(taskId, action.what);
    if (action.is === "take over") return this.#harness.takeOver(taskId);
    if (action.is === "checkpoint") return this.#checkpoint(taskId);
    if (action.is === "from start") return void this.#readers.push(new Reader(this.#harness, taskId, START));
    if (action.is === "subscribe") return void this.#readers.push(new Reader(this.#harness, taskId, await this.#snapshots().read(taskId)));
    // These wait for the agent: they go on while other things happen.
    const call = action.is === "cancel" ? handle.cancel() : handle.followUp("more");
    this.#background.push(call.catch((error: unknown) => assert.ok(error instanceof TaskError, String(error))));
    return undefined;
  }

  async #send(): Promise<void> {
    if (this.#handles.length < MAX_TASKS) this.#handles.push(await this.#harness.send("go"));
  }

  async #checkpoint(taskId: string): Promise<void> {
    const { storage } = this.#harness;
    const meta = await storage.meta(taskId);
    const lease = meta?.leased === true ? storage.leaseOf(taskId) : undefined;
    const fold = new Fold(HISTORY_LIMIT);
    const entries = await this.#harness.log(taskId);
    // An owner's checkpoint reaches no further than the owner: to the last of its own events.
    const known = lease === undefined ? entries.length : (entries.findLast((entry) => isOwn(entry, lease.epoch))?.offset ?? 0);
    for (const entry of entries.slice(0, known)) fold.add(entry);
    if (known > 0) await storage.checkpoint(taskId, lease, fold.checkpoint(meta?.consumed ?? 0));
  }

  #snapshots(): Snapshots {
    return new Snapshots(this.#harness.storage, { cacheBytes: 1 << 20, historyLimit: HISTORY_LIMIT });
  }

  /** Lets every task come to rest and every reader to the end, then judges. */
  async finish(): Promise<string[]> {
    await this.#settle();
    await Promise.all(this.#background);
    await this.#settle();
    const records = await Promise.all(this.#handles.map(({ taskId }) => this.#record(taskId)));
    for (const reader of this.#readers) {
      reader.resume();
      await reader.read();
    }
    const broken = checkPromises(
      records,
      this.#readers.map((reader) => reader.record()),
      { historyLimit: HISTORY_LIMIT },
    );
    return [...broken, ...this.#behind(records)];
  }

  async #settle(): Promise<void> {
    let quiet = 0;
    for (let count = 0; count < 500 && quiet < 20; count += 1) {
      const restless = [];
      for (const { taskId } of this.#handles) if (!isAtRest(stateOf(await this.#harness.read(taskId)))) restless.push(taskId);
      for (const taskId of restless) if (this.#script.idle(taskId)) this.#script.tell(taskId, "return");
      quiet = restless.length === 0 ? quiet + 1 : 0;
      await tick();
    }
    if (quiet < 20) throw new Error("a task does not come to rest");
  }

  async #record(taskId: string): Promise<TaskRecord> {
    const { storage } = this.#harness;
    const leased = (await storage.meta(taskId))?.leased === true;
    const entries = await this.#harness.log(taskId);
    const task = await this.#harness.read(taskId);
    assert.deepEqual(task, (await this.#snapshots().read(taskId)).task, "however it is read");
    return { taskId, entries, task, custody: leased ? "owned" : "nobody", given: this.#script.given };
  }

  /** A reader that was not cut has read all there is. */
  #behind(records: readonly TaskRecord[]): string[] {
    return this.#readers.flatMap((reader, index) => {
      const entries = records.find(({ taskId }) => taskId === reader.taskId)?.entries ?? [];
      const last = entries.findLast(({ kind }) => kind === "event");
      const at = reader.frames.at(-1)?.position?.offset ?? 0;
      // Cut before its first frame: it has nothing to come back with.
      if (reader.frames.length === 0) return [];
      return last === undefined || at >= last.offset ? [] : [`1: reader ${index} stands at ${at}, the log at ${last.offset}`];
    });
  }
}

/** Whether an event is its owner's; one that a command brought says nothing. */
function isOwn(entry: Entry, epoch: number): boolean {
  if (entry.kind === "command" || entry.epoch !== epoch) return false;
  const { payload } = entry.event;
  return payload.case === "artifactUpdate" || (payload.case === "statusUpdate" && payload.value.status?.message !== undefined);
}

function seen(frame: Frame): SeenFrame {
  if (frame.is === "event") return { response: frame.entry.event, position: { offset: frame.entry.offset, mark: frame.entry.mark } };
  const { task, position } = frame.snapshot;
  return { response: create(StreamResponseSchema, { payload: { case: "task", value: task } }) satisfies StreamResponse, position };
}

function tick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
