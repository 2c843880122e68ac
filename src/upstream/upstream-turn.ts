/** One turn of a task that the upstream works on. */
import { type Message, type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type Turn, TurnAborted } from "../core/agent.ts";
import { type AgentEvent, completed, failed, memo, status, working } from "../core/events.ts";
import { statusTimeOf } from "../core/fold.ts";
import { pause } from "../core/pause.ts";
import { isInterrupted, isTerminal, stateOf } from "../core/task.ts";
import { A2AError, type RunEvent, UnknownOutcomeError } from "../client/index.ts";
import { isAway, isDenied, isLost, isUncarried, retryAfterMs } from "./failures.ts";
import { findTask, Untold } from "./find-task.ts";
import { Inbox } from "./inbox.ts";
import { Mirror } from "./mirror.ts";
import { messageDigest, ownMessage, upstreamId, upstreamMessage } from "./own-message.ts";
import type { Read, Reading } from "./reading.ts";
import type { UpstreamAgent } from "./upstream-agent.ts";
import { fromMemo, toMemo, type UpstreamMemo } from "./upstream-memo.ts";

/** How often a lost task is begun again. */
const MAX_RERUNS = 3;

/** What a step of the turn brings: something of the upstream's, or the next message of the caller. */
type Step = Read | { readonly is: "message"; readonly message: Message };

/** Runs a turn by reading the upstream's task. */
export class UpstreamTurn {
  readonly #agent: UpstreamAgent;
  readonly #turn: Turn;
  readonly #mirror: Mirror;
  readonly #inbox: Inbox;
  readonly #over = new AbortController();
  #upstream: UpstreamMemo | undefined;
  #reading: Reading | undefined;
  /** The message that the upstream is to work on, or works on. */
  #message: Message;
  /** Whether the upstream has it. `maybe`: it was sent, by this replica or by one before it, and nobody has heard what became of it. */
  #sent: "no" | "maybe" | "yes";
  /** What the upstream was asked for last. */
  #stage: "find" | "send" | "follow" = "find";
  /** Its streams cannot be picked up again. */
  #polls = false;
  /** A stream was picked up: what the upstream tells of its task in the end may be more than what came. */
  #doubtful = false;
  #canceled = false;
  #reruns = 0;
  /** When the upstream was heard of last. */
  #heard = Date.now();

  constructor(agent: UpstreamAgent, turn: Turn) {
    this.#agent = agent;
    this.#turn = turn;
    this.#message = turn.message;
    this.#inbox = new Inbox(turn);
    this.#mirror = new Mirror(turn.task);
    // With the message that this turn answers the task works again, whatever it waited for.
    if (isInterrupted(this.#mirror.state)) this.#mirror.enter(TaskState.WORKING);
    this.#upstream = fromMemo(turn.memo);
    const same = this.#upstream?.message === messageDigest(turn.message);
    // The answer to a question is sent by its turn only.
    const first = turn.message.taskId === "";
    if (same && (first || turn.resumed)) this.#sent = this.#upstream?.taskId === "" ? "maybe" : "yes";
    else this.#sent = turn.resumed ? "maybe" : "no";
  }

  /** The upstream's events, as ours. Who leaves them early does not have to wait for the next one. */
  events(): AsyncIterableIterator<AgentEvent, void> {
    const { signal } = this.#turn;
    const stop = (): void => this.#stop();
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    const events = this.#work();
    const leave = async (): Promise<IteratorResult<AgentEvent, void>> => {
      signal.removeEventListener("abort", stop);
      this.#end();
      return events.return(undefined);
    };
    return {
      next: async () => {
        const step = await events.next();
        return step.done === true ? leave() : step;
      },
      return: leave,
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  async *#work(): AsyncGenerator<AgentEvent> {
    for (;;) {
      try {
        this.#reading ??= yield* this.#begin();
        if (this.#reading === undefined || (yield* this.#read(this.#reading))) return;
      } catch (error) {
        if (this.#over.signal.aborted || (yield* this.#recover(error))) return;
      }
      const reading = this.#reading;
      this.#reading = undefined;
      await reading?.close();
    }
  }

  /** Where the next events come from; undefined where the message is not to be sent any more. */
  async *#begin(): AsyncGenerator<AgentEvent, Reading | undefined> {
    const adopted = this.#sent === "no" ? undefined : this.#agent.firstWords.adopt(this.#turn, messageDigest(this.#message));
    if (adopted !== undefined) {
      this.#stage = this.#sent === "yes" ? "follow" : "send";
      return adopted;
    }
    if (this.#sent === "maybe") {
      this.#stage = "find";
      const found = await this.#find();
      this.#heard = Date.now();
      if (found !== undefined) yield* this.#learn(found.id, found.contextId);
    }
    if (this.#sent === "yes") {
      this.#stage = "follow";
      this.#doubtful = true;
      return this.#agent.follow(this.#upstream?.taskId ?? "", this.#turn, { polls: this.#polls });
    }
    if (this.#canceled) return undefined;
    const message = await upstreamMessage(this.#message, this.#turn, this.#onTask);
    this.#stage = "send";
    this.#sent = "maybe";
    return this.#agent.send(message, this.#turn);
  }

  /** The upstream's task that a message goes on with. */
  get #onTask(): UpstreamMemo | undefined {
    return this.#upstream?.taskId === "" ? undefined : this.#upstream;
  }

  async #find(): Promise<Task | undefined> {
    const { client, options } = this.#agent;
    const sought = {
      client,
      messageId: upstreamId(this.#message.messageId, this.#turn),
      contextId: upstreamId(this.#turn.contextId, this.#turn),
      taskId: this.#onTask?.taskId ?? "",
      // Its message brought the task into its state; the upstream's news came later.
      sentAt: statusTimeOf(this.#turn.task),
      options,
      extras: this.#extras(),
    };
    try {
      return await findTask(sought);
    } catch (error) {
      if (error instanceof Untold && options.lost === "rerun") return undefined;
      throw error;
    }
  }

  /** Reads on. True where the turn is over. */
  async *#read(reading: Reading): AsyncGenerator<AgentEvent, boolean> {
    for (let first = true; ; first = false) {
      const step = await this.#step(reading);
      if (this.#over.signal.aborted) return true;
      if (step.is === "message") {
        this.#goOnWith(step.message);
        return false;
      }
      reading.taken();
      if (step.is === "error") throw step.error;
      if (step.is === "end") return yield* this.#ended();
      this.#heard = Date.now();
      yield* this.#take(step.event, first);
      if (isTerminal(this.#mirror.state)) return true;
      if (this.#mirror.state === TaskState.INPUT_REQUIRED) return this.#atRest();
    }
  }

  /** The next thing that happens. A message is taken when the upstream has the one before it. */
  async #step(reading: Reading): Promise<Step> {
    const attends = this.#sent === "yes" && (this.#agent.acceptsMessages || this.#mirror.state === TaskState.AUTH_REQUIRED);
    if (attends) this.#inbox.listen();
    else if (!this.#inbox.listens) return reading.next();
    const { promise, resolve } = Promise.withResolvers<Step | undefined>();
    this.#inbox.onMessage = () => resolve(undefined);
    void reading.next().then(resolve);
    const early = attends ? this.#inbox.take() : undefined;
    if (early !== undefined) return { is: "message", message: early };
    const step = await promise;
    this.#inbox.onMessage = undefined;
    const message = step === undefined && attends ? this.#inbox.take() : undefined;
    return message === undefined ? (step ?? reading.next()) : { is: "message", message };
  }

  #goOnWith(message: Message): void {
    this.#message = message;
    this.#sent = "no";
    if (isInterrupted(this.#mirror.state)) this.#mirror.enter(TaskState.WORKING);
  }

  /** What was read has come to its end; where that is no rest, the upstream is asked how its task stands. True where the turn is over. */
  async *#ended(): AsyncGenerator<AgentEvent, boolean> {
    if (isInterrupted(this.#mirror.state)) return this.#atRest();
    this.#stage = "find";
    yield* this.#mirror.reconcile(await this.#agent.client.getTask(this.#upstream?.taskId ?? "", this.#extras()));
    if (isTerminal(this.#mirror.state)) return true;
    return isInterrupted(this.#mirror.state) && this.#atRest();
  }

  /** The task waits for its caller. True where the turn is over: the caller's answer begins another one. */
  #atRest(): boolean {
    const message = this.#inbox.take();
    if (message !== undefined) this.#goOnWith(message);
    // An authorization may come by another way, and the upstream goes on by itself (CL-07).
    return message === undefined && this.#mirror.state !== TaskState.AUTH_REQUIRED;
  }

  async *#take({ event, incomplete }: RunEvent, first: boolean): AsyncGenerator<AgentEvent> {
    if (event.case === undefined) return;
    const on = this.#onTask;
    if (event.case === "message" && on === undefined) {
      yield completed(ownMessage(event.value));
      this.#mirror.enter(TaskState.COMPLETED);
    } else if (event.case === "message") {
      yield* this.#learn(on?.taskId ?? "", on?.contextId ?? "");
      yield* this.#mirror.take(event);
    } else if (event.case === "task") {
      // Some servers show a task that waits as it stood before this message, and only then what comes of it (C-38).
      const before = first && this.#stage === "send" && on !== undefined && isInterrupted(stateOf(event.value));
      this.#doubtful ||= !first;
      yield* this.#learn(event.value.id, event.value.contextId);
      yield* this.#mirror.reconcile(event.value, { status: !before });
    } else {
      yield* this.#learn(event.value.taskId, event.value.contextId);
      const ends = event.case === "statusUpdate" && isTerminal(event.value.status?.state ?? TaskState.UNSPECIFIED);
      const whole = ends && (this.#doubtful || incomplete.size > 0) ? await this.#whole() : undefined;
      // One that does not know of its end yet may not know of all its artifacts either.
      if (whole !== undefined && isTerminal(stateOf(whole))) yield* this.#mirror.reconcile(whole);
      yield* this.#mirror.take(event);
    }
  }

  /** The upstream's task as it tells it when asked: what a cut stream has left out is in it. */
  async #whole(): Promise<Task | undefined> {
    const taskId = this.#onTask?.taskId;
    return taskId === undefined ? undefined : this.#agent.client.getTask(taskId, this.#extras()).catch(() => undefined);
  }

  /** Keeps in the log where the upstream's task is, and that it has the message. */
  async *#learn(taskId: string, contextId: string): AsyncGenerator<AgentEvent> {
    if (this.#sent === "yes" && this.#upstream?.taskId === taskId) return;
    [this.#sent, this.#stage] = ["yes", "follow"];
    const next = this.#memo(taskId, contextId);
    const known = this.#upstream?.taskId === taskId && this.#upstream.message === next.message;
    this.#upstream = next;
    if (this.#canceled) this.#agent.cancel(next, this.#turn);
    if (!known) yield memo(toMemo(next));
  }

  /** What there is to know of the message and its task. */
  #memo(taskId: string, contextId: string): UpstreamMemo {
    const { messageId } = this.#message;
    return {
      taskId,
      contextId: contextId || this.#upstream?.contextId || upstreamId(this.#turn.contextId, this.#turn),
      messageId: upstreamId(messageId, this.#turn),
      message: messageDigest(this.#message),
    };
  }

  #stop(): void {
    const reason: unknown = this.#turn.signal.reason;
    const cause = reason instanceof TurnAborted ? reason.abortCause : "draining";
    this.#canceled = cause === "canceled" || cause === "failed";
    // What the upstream answers is in its stream too: of a canceled task it may still say how it ended.
    if (this.#canceled && this.#onTask !== undefined) this.#agent.cancel(this.#onTask, this.#turn);
    // Another owner reads on.
    if (cause !== "canceled") this.#end();
  }

  #end(): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort();
    // The upstream may work on what nobody wants any more.
    if (this.#canceled && this.#sent === "maybe") this.#agent.cancel(this.#memo("", ""), this.#turn, this.#reading);
    else void this.#reading?.close();
  }

  #extras(): ReturnType<UpstreamAgent["extrasOf"]> & { readonly signal: AbortSignal } {
    return { ...this.#agent.extrasOf(this.#turn), signal: this.#over.signal };
  }

  /** The upstream cannot be read now, has lost the task, or has refused the message. True where the turn is over. */
  async *#recover(error: unknown): AsyncGenerator<AgentEvent, boolean> {
    if (error instanceof UnknownOutcomeError && error.taskId !== undefined && this.#stage === "send" && this.#sent !== "yes") {
      yield* this.#learn(error.taskId, error.contextId ?? "");
      return false;
    }
    if (error instanceof Untold) {
      yield failed("nobody can tell what became of the message to the upstream agent; the work may have run");
      return true;
    }
    if (isAway(error)) return yield* this.#wait(error);
    if (!(error instanceof A2AError)) throw error;
    const asked = this.#stage === "find" || this.#polls;
    if (this.#onTask !== undefined && isLost(error, { asked })) {
      if (asked || this.#stage === "send") return yield* this.#lost();
      // Some servers stream only what runs in their own process: GetTask knows.
      this.#polls = true;
      return false;
    }
    if (this.#stage === "send") return yield* this.#refused(error);
    if (isDenied(error)) {
      yield failed("the upstream agent does not let its task be read any more; the work may have run");
      return true;
    }
    if (asked) return yield* this.#wait(error);
    this.#polls = true;
    return false;
  }

  /** Comes again in a while, unless the upstream has been away for too long. */
  async *#wait(error: unknown): AsyncGenerator<AgentEvent, boolean> {
    const { awayMs, retryMs } = this.#agent.options;
    if (this.#stage === "send" && this.#sent === "maybe" && isUncarried(error)) this.#sent = "no";
    if (Date.now() - this.#heard >= awayMs) {
      const done = this.#sent === "no" ? "" : "; the work may have run";
      yield failed(`the upstream agent has been away for ${Math.round(awayMs / 1000)} s${done}`);
      return true;
    }
    await pause(retryAfterMs(error) ?? retryMs, this.#over.signal);
    return this.#over.signal.aborted;
  }

  /** The upstream knows the task no more. */
  async *#lost(): AsyncGenerator<AgentEvent, boolean> {
    const begins = this.#message.taskId === "";
    if (this.#agent.options.lost === "fail" || !begins || this.#reruns >= MAX_RERUNS) {
      yield failed("the upstream agent does not know the task any more; the work may have run");
      return true;
    }
    this.#reruns += 1;
    this.#upstream = undefined;
    this.#sent = "no";
    this.#mirror.beginAnew();
    return this.#canceled;
  }

  /** The upstream has refused the message. A task that it has goes on, or waits on. */
  async *#refused(error: A2AError): AsyncGenerator<AgentEvent, boolean> {
    const refusal = this.#agent.refusalOf(error);
    const why = refusal === undefined ? "the upstream agent did not take the message" : `the upstream agent refused: ${refusal.message}`;
    const whole = await this.#whole();
    const state = whole === undefined ? TaskState.UNSPECIFIED : stateOf(whole);
    if (whole === undefined || state === TaskState.UNSPECIFIED) {
      yield failed(why);
      return true;
    }
    // It is dealt with: nobody sends it again.
    yield* this.#learn(whole.id, whole.contextId);
    yield* this.#mirror.reconcile(whole, { status: isTerminal(state) });
    if (isTerminal(state)) return true;
    yield isInterrupted(state) ? status(state, why) : working(why);
    this.#mirror.enter(state);
    return isInterrupted(state) && this.#atRest();
  }
}
