/** A mixed load: callers that go on for as long as they are let, each doing one thing after the other on either replica over any binding. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import type { StreamResponse } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { send, startTask, stateOf, taskOf } from "../bindings/bed.ts";
import type { Caller, Stream } from "../bindings/callers/caller.ts";
import { logHeaders, positioned } from "../chaos/position.ts";
import type { ReplicaProcess } from "../e2e/replica-process.ts";
import type { Hooks } from "./hooks.ts";

/** Waits for what a webhook or a cancel brings about. */
const WITHIN_MS = 30_000;
/** A caller thinks for so long at most. */
const THINK_MS = 60;

type Action = (one: Caller, other: Caller) => Promise<void>;

/** Runs it. */
export class Load {
  /** How often each thing was done. */
  readonly done: Record<string, number> = {};
  /** How often something took longer than tasks are kept, and failed: the task may have gone under it. */
  overtaken = 0;
  /** What went wrong else: the first few. */
  readonly wrong: string[] = [];
  readonly #stop = new AbortController();
  readonly #replicas: readonly ReplicaProcess[];
  readonly #hooks: Hooks;
  readonly #keptMs: number;
  readonly #callers: readonly Promise<void>[];

  /** `keptMs`: how long a task is there after its end. */
  constructor(
    replicas: readonly ReplicaProcess[],
    hooks: Hooks,
    { callers, keptMs }: { readonly callers: number; readonly keptMs: number },
  ) {
    this.#keptMs = keptMs;
    this.#replicas = replicas;
    this.#hooks = hooks;
    const actions = Object.entries(this.#actions());
    this.#callers = Array.from({ length: callers }, (_, number) => this.#call(actions, number));
  }

  /** Resolves when everybody has finished what they were at. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#callers);
  }

  async #call(actions: readonly (readonly [string, Action])[], number: number): Promise<void> {
    for (let round = number; !this.#stop.signal.aborted; round += 1) {
      // In turn, so that the mix is the same at any time; each caller is at another place in it.
      const [name, action] = actions[round % actions.length] as readonly [string, Action];
      const binding = Math.floor(Math.random() * 3);
      const home = Math.floor(Math.random() * this.#replicas.length);
      const [one, other] = [home, home + 1].map((at) => this.#replicas[at % this.#replicas.length]?.callers[binding]);
      assert.ok(one !== undefined && other !== undefined);
      const began = performance.now();
      try {
        await action(one, other);
        this.done[name] = (this.done[name] ?? 0) + 1;
      } catch (error) {
        if (performance.now() - began > this.#keptMs) this.overtaken += 1;
        else if (this.wrong.length < 20)
          this.wrong.push(`${name} over ${one.binding}: ${error instanceof Error ? error.message : String(error)}`);
      }
      await delay(Math.random() * THINK_MS);
    }
  }

  #actions(): Readonly<Record<string, Action>> {
    return {
      "short send": async (one) => {
        assert.equal(stateOf(taskOf(await one.unary("SendMessage", send("ticks 1 0")))), "TASK_STATE_COMPLETED");
      },
      stream: async (one) => {
        const ticks = new Ticks();
        for await (const frame of one.stream("SendStreamingMessage", send("ticks 20 15"))) ticks.see(frame);
        ticks.assertWhole(20);
      },
      "cut stream": async (one, other) => {
        const ticks = new Ticks();
        const cut = one.stream("SendStreamingMessage", send("ticks 30 15"), { headers: logHeaders() });
        const place = await upTo(cut, ticks, 8);
        const rest = other.stream("SubscribeToTask", { id: place.taskId }, { headers: logHeaders(place) });
        for await (const frame of rest) ticks.see(frame);
        ticks.assertWhole(30);
      },
      get: async (one, other) => {
        const id = await startTask(one, "ticks 4 10");
        for (const caller of [other, one]) await caller.unary("GetTask", { id, historyLength: 5 });
      },
      "blocking send": async (one) => {
        assert.equal(stateOf(taskOf(await one.unary("SendMessage", send("ticks 10 20")))), "TASK_STATE_COMPLETED");
      },
      list: async (one) => {
        await one.unary("ListTasks", { pageSize: 20, includeArtifacts: true });
      },
      cancel: async (one, other) => {
        const id = await startTask(one, "ticks 100000 20");
        assert.equal(stateOf(taskOf(await other.unary("CancelTask", { id }))), "TASK_STATE_CANCELED");
      },
      "follow-up": async (one, other) => {
        const { id } = taskOf(await one.unary("SendMessage", send("ask")));
        const done = taskOf(await other.unary("SendMessage", send("ticks 3 5", { message: { taskId: id } })));
        assert.equal(stateOf(done), "TASK_STATE_COMPLETED");
      },
      // Nobody comes back to it: it ends by itself.
      "abandoned question": async (one) => {
        assert.equal(stateOf(taskOf(await one.unary("SendMessage", send("ask")))), "TASK_STATE_INPUT_REQUIRED");
      },
      webhook: async (one) => {
        const { url, ended } = this.#hooks.next();
        await startTask(one, "ticks 5 20", { configuration: { returnImmediately: true, taskPushNotificationConfig: { url } } });
        const late = new AbortController();
        const waited = delay(WITHIN_MS, "late", { signal: late.signal }).catch(() => undefined);
        const first = await Promise.race([ended, waited]);
        late.abort();
        assert.ok(first !== "late", "the end of its task did not come");
      },
    };
  }
}

/** Reads a stream as far as so many ticks, and leaves it; answers where that was. */
async function upTo(stream: Stream, ticks: Ticks, count: number): Promise<Parameters<typeof logHeaders>[0] & object> {
  for await (const frame of stream) {
    ticks.see(frame);
    const { payload } = frame;
    if (ticks.next < count || payload.case !== "artifactUpdate") continue;
    stream.leave();
    return { taskId: payload.value.taskId, position: positioned(frame).position };
  }
  return assert.fail("the stream ended before its task");
}

/** Ticks as a reader sees them. */
class Ticks {
  next = 0;

  see({ payload }: StreamResponse): void {
    if (payload.case !== "artifactUpdate") return;
    for (const { content } of payload.value.artifact?.parts ?? []) {
      assert.equal(Number(content.value), this.next, "a tick is missing, or there twice");
      this.next += 1;
    }
  }

  assertWhole(count: number): void {
    assert.equal(this.next, count);
  }
}
