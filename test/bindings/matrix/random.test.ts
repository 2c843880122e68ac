/** Calls in random order, each answered alike over every binding, in memory and on Redis, on one replica and on two. */
import { suite } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { brief, everywhere, message, nextFrame, type Outcome, sharedBed } from "../bed.ts";
import { CallFailed, type Caller, frameJson } from "../callers/caller.ts";
import { checkFailure } from "../failures.ts";

const STEPS = 60;
const SEEDS = [1, 2, 3, 4];

/** One call. Numbers choose among what earlier calls have made; beyond it they name what there is not. */
interface Step {
  readonly what: "send" | "stream" | "again" | "get" | "list" | "cancel" | "subscribe" | "setPush" | "getPush" | "listPush" | "deletePush";
  readonly text: string;
  readonly task: number;
  readonly follows: boolean;
  readonly context: number;
  readonly historyLength: number | undefined;
  readonly push: string | undefined;
}

const anyStep: fc.Arbitrary<Step> = fc.record({
  what: fc.constantFrom(
    ...(["send", "send", "send", "stream", "stream", "again", "get", "get", "list", "cancel", "subscribe"] as const),
    ...(["setPush", "getPush", "listPush", "deletePush"] as const),
  ),
  text: fc.constantFrom(
    "complete",
    "input",
    "input",
    "auth",
    "fail",
    "throw",
    "reject",
    "return",
    "talk",
    "reply hi",
    "reply-invalid",
    "invalid",
  ),
  task: fc.constantFrom(0, 0, 0, 1, 1, 2, 20),
  follows: fc.boolean(),
  context: fc.constantFrom(20, 20, 20, 0, 1, 2),
  historyLength: fc.constantFrom(undefined, undefined, undefined, undefined, 0, 1, 2, 3, -1),
  push: fc.constantFrom(undefined, undefined, "a", "b"),
});

/** What a caller remembers. */
class Caretaker {
  readonly #caller: Caller;
  readonly #contexts: string[] = [crypto.randomUUID(), crypto.randomUUID()];
  readonly #tasks: string[] = [];
  #last: JsonObject = { message: message("return") };

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  async take(one: Step): Promise<Outcome> {
    try {
      return [one.what, await this.#answer(one)];
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error;
      const { failure } = error;
      return [one.what, checkFailure(this.#caller, failure, failure.reason ?? "", failure.violations), failure.message];
    }
  }

  async #answer({ what, ...step }: Step): Promise<Outcome> {
    const caller = this.#caller;
    const task = this.#tasks.at(-1 - step.task) ?? "00000000-0000-7000-8000-000000000000";
    const { historyLength, push = "c" } = step;
    const bound = historyLength === undefined ? {} : { historyLength };
    const reply = async (method: string, request: JsonObject): Promise<Outcome> => (await caller.unary(method, request)).message;
    switch (what) {
      case "send":
      case "stream":
        this.#last = this.#sendOf(step, task);
        return what === "send" ? this.#send() : this.#stream();
      case "again":
        return step.follows ? this.#send() : this.#stream();
      case "get":
        return reply("GetTask", { id: task, ...bound });
      case "list":
        return this.#list({ ...bound, contextId: this.#contexts[step.context] ?? "none", pageSize: 1 + step.task });
      case "cancel":
        return reply("CancelTask", { id: task });
      case "setPush":
        return reply("CreateTaskPushNotificationConfig", { taskId: task, id: push, url: `https://h/${step.text}` });
      case "getPush":
        return reply("GetTaskPushNotificationConfig", { taskId: task, id: push });
      case "listPush":
        return reply("ListTaskPushNotificationConfigs", { taskId: task });
      case "deletePush":
        return reply("DeleteTaskPushNotificationConfig", { taskId: task, id: push });
      case "subscribe":
        return this.#first(task);
    }
    return undefined;
  }

  async #first(id: string): Promise<Outcome> {
    const stream = this.#caller.stream("SubscribeToTask", { id });
    const first = await nextFrame(stream);
    stream.leave();
    return first;
  }

  #sendOf({ text, follows, context, historyLength, push }: Omit<Step, "what">, taskId: string): JsonObject {
    const contextId = this.#contexts[context];
    const configuration = {
      ...(historyLength !== undefined && { historyLength }),
      ...(push !== undefined && { taskPushNotificationConfig: { id: push, url: "https://h/" } }),
    };
    return { message: message(text, { ...(follows && { taskId }), ...(contextId && { contextId }) }), configuration };
  }

  async #send(): Promise<Outcome> {
    const { message: reply } = await this.#caller.unary("SendMessage", this.#last);
    this.#note(reply);
    return reply;
  }

  async #stream(): Promise<Outcome> {
    const stream = this.#caller.stream("SendStreamingMessage", this.#last);
    const frames: JsonObject[] = [];
    for await (const frame of stream) {
      frames.push(frameJson(frame));
      // Open until the credential comes.
      if (brief(frames.at(-1) ?? {}).endsWith("AUTH_REQUIRED")) {
        stream.leave();
        break;
      }
    }
    this.#note(frames[0] ?? {});
    return frames;
  }

  #note(reply: JsonObject): void {
    const { id, contextId } = (reply["task"] ?? {}) as { id?: string; contextId?: string };
    if (id !== undefined && !this.#tasks.includes(id)) this.#tasks.push(id);
    if (contextId !== undefined && !this.#contexts.includes(contextId)) this.#contexts.push(contextId);
  }

  /** Tasks of one millisecond come in the order of their ids, which are random. */
  async #list(request: JsonObject): Promise<Outcome> {
    const { message: page } = await this.#caller.unary("ListTasks", request);
    const { tasks = [], nextPageToken = "", ...rest } = page as { tasks?: JsonObject[]; nextPageToken?: string };
    return [rest, tasks.length, nextPageToken !== ""];
  }
}

suite("whatever is called in whatever order", { timeout: 120_000 }, () => {
  const bed = sharedBed({ push: { enabled: true, maxConfigs: 2 } });

  for (const seed of SEEDS) {
    const [steps = []] = fc.sample(fc.array(anyStep, { minLength: STEPS, maxLength: STEPS }), { seed, numRuns: 1 });

    everywhere(`R-002 is answered alike everywhere: ${STEPS} calls, seed ${seed}`, bed, async (caller) => {
      const caretaker = new Caretaker(caller);
      const outcomes: Outcome[] = [];
      for (const one of steps) outcomes.push(await caretaker.take(one));
      return outcomes;
    });
  }
});
