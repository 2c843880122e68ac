/** The caller of one task: sends it, answers its questions, cancels it, as a real client would through all that happens. */
import type { JsonObject } from "@bufbuild/protobuf";
import { setTimeout as delay } from "node:timers/promises";
import type { StreamResponse } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { isInterrupted, isTerminal, stateOf } from "../../src/core/task.ts";
import { CALL_MS, type Clients, outcomeOf } from "./clients.ts";
import { Follower, type OpenedStream } from "./follower.ts";
import type { Ledger, LedgerTask } from "./ledger.ts";
import { logHeaders } from "./position.ts";
import type { Random } from "./random.ts";
import { drawScenario, type Scenario, scriptText } from "./script.ts";
import type { Hook, Hooks } from "./webhooks.ts";

/** What callers share. */
export interface CallerContext {
  readonly clients: Clients;
  readonly ledger: Ledger;
  readonly followers: Follower[];
  /** Receivers of webhooks; absent where tasks have none. */
  readonly hooks?: Hooks | undefined;
  /** Ends all waiting at the end of the run's time. */
  readonly over: AbortSignal;
}

/** Time between two looks at a task that may ask something. */
const LOOK_MS = 300;
/** Of ten tasks so many have a webhook that comes with the send, and one that comes later. */
const HOOKED = { withSend: 0.7, later: 0.5 };
const LATER_MS = 2000;

/** Sends a task drawn from `random`, and does all that its caller does until it is over or waits for nobody. */
export async function callTask(context: CallerContext, random: Random): Promise<void> {
  const task = new TaskCaller(context, random, drawScenario(random.fork("scenario")));
  await task.run();
}

class TaskCaller {
  readonly #context: CallerContext;
  readonly #random: Random;
  readonly #scenario: Scenario;
  #task: LedgerTask | undefined;

  constructor(context: CallerContext, random: Random, scenario: Scenario) {
    this.#context = context;
    this.#random = random;
    this.#scenario = scenario;
  }

  async run(): Promise<void> {
    const { ledger, followers, clients } = this.#context;
    const messageId = this.#random.uuid();
    const message = { messageId, role: "ROLE_USER", parts: [{ text: scriptText(this.#scenario.steps) }] };
    const way = this.#random.pick(["stream", "stream", "immediately", "wait"] as const);
    const hook = this.#drawHook("with the send", HOOKED.withSend);
    const configuration = hook === undefined ? {} : { taskPushNotificationConfig: { id: hook.id, url: hook.url } };
    const sent = await (way === "stream" ? this.#stream({ message, configuration }) : this.#send(message, way, configuration));
    if (sent === undefined) return;
    if (hook !== undefined) hook.taskId = sent.taskId;
    ledger.acknowledge(messageId, sent.taskId);
    this.#task = ledger.open(sent.taskId, this.#scenario.shape, messageId);
    const readers = Array.from({ length: this.#random.between(sent.opened === undefined ? 1 : 0, 2) }, (_, index) => index);
    const follow = (name: string | number, opened?: OpenedStream): void =>
      void followers.push(new Follower(clients, this.#random.fork(`reader ${name}`), sent.taskId, opened));
    if (sent.opened !== undefined) follow("sender", sent.opened);
    for (const index of readers) follow(index);
    await Promise.all([this.#cancel(), this.#talk(), this.#answer(), this.#register()]);
  }

  #drawHook(name: string, probability: number): Hook | undefined {
    const random = this.#random.fork(`webhook ${name}`);
    return random.chance(probability) ? this.#context.hooks?.draw(random) : undefined;
  }

  /** Registers another webhook while the task goes on. */
  async #register(): Promise<void> {
    const hook = this.#drawHook("later", HOOKED.later);
    if (hook === undefined) return;
    const random = this.#random.fork("register");
    const { taskId } = this.#task as LedgerTask;
    await this.#wait(random.between(0, LATER_MS));
    const answer = await this.#context.clients.ask(random, "CreateTaskPushNotificationConfig", { taskId, id: hook.id, url: hook.url });
    if (answer.is === "answered") {
      hook.registeredAt = Date.now();
      hook.taskId = taskId;
    } else if (answer.reason === "TASK_NOT_FOUND") this.#missing();
    else this.#odd(`a webhook was refused: ${answer.reason}`);
  }

  /** SendStreamingMessage until a first frame has come. */
  async #stream(request: JsonObject): Promise<{ taskId: string; opened: OpenedStream } | undefined> {
    const { clients } = this.#context;
    for (let tries = 1; ; tries += 1) {
      const at = Date.now();
      const { stream, connection } = await clients.stream(this.#random, "SendStreamingMessage", request, logHeaders());
      const late = setTimeout(() => stream.leave(), CALL_MS);
      try {
        const { value, done } = await stream.next();
        if (done === true) throw new Error("the stream ended before its first frame");
        const taskId = taskIdOf(value);
        return { taskId, opened: { stream, connection, first: value, at } };
      } catch (error) {
        stream.leave();
        const outcome = outcomeOf(error);
        if (outcome.is === "refused") return this.#refused(outcome.reason);
        await this.#again(tries);
      } finally {
        clearTimeout(late);
      }
    }
  }

  async #send(
    message: JsonObject,
    way: "immediately" | "wait",
    given: JsonObject,
  ): Promise<{ taskId: string; opened: undefined } | undefined> {
    const configuration = { ...given, returnImmediately: way === "immediately" };
    const answer = await this.#context.clients.ask(this.#random, "SendMessage", { message, configuration });
    this.#context.ledger.repeated += answer.tries - 1;
    if (answer.is === "refused") return this.#refused(answer.reason);
    const { id } = answer.message["task"] as { id: string };
    return { taskId: id, opened: undefined };
  }

  /** A send that was waiting for its task may be told that it is gone. */
  #refused(reason: string): undefined {
    if (reason !== "TASK_NOT_FOUND") return this.#odd(`a send was refused: ${reason}`);
    this.#context.ledger.missing.add("");
    return undefined;
  }

  async #again(tries: number): Promise<void> {
    this.#context.ledger.repeated += 1;
    await this.#context.clients.pause(this.#random, tries);
  }

  /** Cancels when the scenario says so. */
  async #cancel(): Promise<void> {
    const { cancelAfterMs } = this.#scenario;
    const task = this.#task as LedgerTask;
    if (cancelAfterMs === undefined) return;
    await this.#wait(cancelAfterMs);
    const answer = await this.#context.clients.ask(this.#random.fork("cancel"), "CancelTask", { id: task.taskId });
    if (answer.is === "answered") task.canceled = true;
    else if (answer.reason === "TASK_NOT_FOUND") this.#missing();
    else if (answer.reason !== "TASK_NOT_CANCELABLE") this.#odd(`a cancel was refused: ${answer.reason}`);
  }

  /** Says something while the task works. */
  async #talk(): Promise<void> {
    const random = this.#random.fork("talk");
    let since = 0;
    for (const at of this.#scenario.messagesAtMs) {
      await this.#wait(at - since);
      since = at;
      if (!(await this.#followUp(random))) return;
    }
  }

  /** Answers what is asked, as often as planned, until the task is over or waits in vain. */
  async #answer(): Promise<void> {
    const random = this.#random.fork("answer");
    const { taskId } = this.#task as LedgerTask;
    let left = this.#scenario.answers;
    for (;;) {
      const task = await this.#context.clients.task(random, taskId);
      if (task === undefined) return this.#missing();
      const state = stateOf(task);
      if (isTerminal(state) || (isInterrupted(state) && left === 0)) return;
      if (isInterrupted(state)) {
        left -= 1;
        if (!(await this.#followUp(random))) return;
      }
      await this.#wait(random.between(LOOK_MS / 3, LOOK_MS));
    }
  }

  /** Sends the next message on the task, over a stream or not. Answers whether it was taken. */
  async #followUp(random: Random): Promise<boolean> {
    const { clients, ledger } = this.#context;
    const task = this.#task as LedgerTask;
    const messageId = random.uuid();
    const message = { messageId, taskId: task.taskId, role: "ROLE_USER", parts: [{ text: "go on" }] };
    const answer = await clients.ask(random, "SendMessage", { message, configuration: { returnImmediately: true } });
    ledger.repeated += answer.tries - 1;
    task.followUps.push({ messageId, tries: answer.tries, outcome: answer.is === "answered" ? "accepted" : "refused" });
    if (answer.is === "answered") {
      const { id } = answer.message["task"] as { id: string };
      if (id !== task.taskId) this.#odd(`a follow-up was answered with ${id}`);
      return true;
    }
    if (answer.reason === "TASK_NOT_FOUND") this.#missing();
    // The task may have ended meanwhile; the agent takes messages at any other time.
    else if (answer.reason !== "UNSUPPORTED_OPERATION") this.#odd(`a follow-up was refused: ${answer.reason}`);
    return false;
  }

  #missing(): void {
    this.#context.ledger.missing.add((this.#task as LedgerTask).taskId);
  }

  #odd(what: string): undefined {
    this.#context.ledger.odd.push({ taskId: this.#task?.taskId ?? "", what });
  }

  async #wait(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#context.over });
  }
}

function taskIdOf({ payload }: StreamResponse): string {
  if (payload.case === "task") return payload.value.id;
  throw new TypeError(`the first frame is ${payload.case}`);
}
