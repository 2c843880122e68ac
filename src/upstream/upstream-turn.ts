/** One turn of a task that the upstream works on. */
import { type Message, type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type Turn, TurnAborted } from "../core/agent.ts";
import { type AgentEvent, completed, failed, memo, status } from "../core/events.ts";
import { pause } from "../core/pause.ts";
import { isTerminal } from "../core/task.ts";
import { A2AError, type RunEvent, StillRunningError, UnknownOutcomeError } from "../client/index.ts";
import { isTransient } from "../client/a2a-error.ts";
import { findTask, Untold } from "./find-task.ts";
import { Mirror } from "./mirror.ts";
import { ownMessage } from "./own-message.ts";
import type { Read, Reading } from "./reading.ts";
import { refusalOf } from "./refusal.ts";
import type { UpstreamAgent, UpstreamCall } from "./upstream-agent.ts";
import { fromMemo, toMemo, type UpstreamMemo } from "./upstream-memo.ts";

/** How long a canceled task is read on for what the upstream says last; its own end is not held up by it. */
const CANCEL_MS = 60_000;
/** Between two rounds of looking for an upstream that is away; for one that does not stream, this is how often it is asked. */
const ROUND_MS = 1000;
/** How often a lost task is begun again. */
const MAX_RERUNS = 3;

/** What a step of the turn brings: something of the upstream's, or the next message of the caller. */
type Step = Read | { readonly is: "message"; readonly message: Message };

/** Runs a turn by reading the upstream's task. */
export class UpstreamTurn {
  readonly #agent: UpstreamAgent;
  readonly #turn: Turn;
  readonly #mirror: Mirror;
  readonly #over = new AbortController();
  #upstream: UpstreamMemo | undefined;
  #reading: Reading | undefined;
  /** The message that the upstream works on. */
  #message: Message;
  #next: Promise<Step> | undefined;
  #taken: Message | undefined;
  /** The message has been sent, and nobody has heard what became of it. */
  #unheard = false;
  #cancelAsked = false;
  #reruns = 0;
  /** When the upstream was heard of last. */
  #heard = Date.now();

  constructor(agent: UpstreamAgent, turn: Turn) {
    this.#agent = agent;
    this.#turn = turn;
    this.#message = turn.message;
    this.#mirror = new Mirror(turn.task);
    this.#upstream = fromMemo(turn.memo);
  }

  /** The upstream's events, as ours. */
  async *events(): AsyncGenerator<AgentEvent> {
    const { signal } = this.#turn;
    const stop = (): void => this.#stop();
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    try {
      yield* this.#work();
    } finally {
      signal.removeEventListener("abort", stop);
      this.#over.abort();
      await this.#reading?.close();
    }
  }

  async *#work(): AsyncGenerator<AgentEvent> {
    for (;;) {
      try {
        this.#reading ??= yield* this.#begin();
        if (yield* this.#read(this.#reading)) return;
      } catch (error) {
        if (this.#over.signal.aborted) return;
        if (yield* this.#recover(error)) return;
      }
      await this.#leave();
    }
  }

  async #leave(): Promise<void> {
    const reading = this.#reading;
    this.#reading = undefined;
    await reading?.close();
  }

  /** Where this turn's events come from. */
  async *#begin(): AsyncGenerator<AgentEvent, Reading> {
    const { messageId } = this.#message;
    const known = this.#upstream;
    const adopted = this.#message === this.#turn.message ? this.#agent.firstWords.adopt(this.#turn) : undefined;
    if (adopted !== undefined) return adopted;
    if (known?.messageId === messageId && known.taskId !== "") return this.#agent.follow(known.taskId, this.#turn);
    const resumed = this.#turn.resumed && this.#message === this.#turn.message;
    if (this.#unheard || resumed || known?.messageId === messageId) {
      const found = await findTask(this.#agent, this.#turn, this.#message, known);
      this.#unheard = false;
      this.#heard = Date.now();
      if (found !== undefined) {
        yield* this.#learn(found.id, found.contextId);
        return this.#agent.follow(found.id, this.#turn);
      }
    }
    return this.#agent.send(callOf(this.#turn, this.#message), known?.taskId === "" ? undefined : known);
  }

  /** Reads on. True where the turn is over. */
  async *#read(reading: Reading): AsyncGenerator<AgentEvent, boolean> {
    for (;;) {
      const step = await this.#step(reading);
      if (this.#over.signal.aborted) return true;
      if (step.is === "message") {
        this.#message = step.message;
        return false;
      }
      reading.taken();
      if (step.is === "error") throw step.error;
      if (step.is === "end") return this.#ended();
      this.#heard = Date.now();
      yield* this.#take(step.event);
      if (isTerminal(this.#mirror.state)) return true;
      if (this.#mirror.state === TaskState.INPUT_REQUIRED) return this.#ended();
    }
  }

  /** The next thing that happens. */
  async #step(reading: Reading): Promise<Step> {
    const event: Promise<Step> = reading.next();
    const attends = this.#agent.acceptsMessages || this.#mirror.state === TaskState.AUTH_REQUIRED;
    if (!attends && this.#next === undefined) return event;
    this.#next ??= this.#turn.next().then((message): Step | Promise<never> => {
      this.#taken = message;
      // The turn is over: its signal says so.
      return message === undefined ? new Promise<never>(() => undefined) : { is: "message", message };
    });
    const step = await Promise.race([this.#next, event]);
    if (step.is === "message") [this.#next, this.#taken] = [undefined, undefined];
    return step;
  }

  /** The upstream's run came to rest. True where the turn is over: the caller's answer begins another one. */
  #ended(): boolean {
    if (this.#taken !== undefined) {
      [this.#message, this.#next, this.#taken] = [this.#taken, undefined, undefined];
      return false;
    }
    // An authorization may come by another way, and the upstream goes on by itself (CL-07).
    return this.#mirror.state !== TaskState.AUTH_REQUIRED;
  }

  async *#take({ event, incomplete }: RunEvent): AsyncGenerator<AgentEvent> {
    if (event.case === undefined) return;
    if (event.case === "message" && (this.#upstream === undefined || this.#upstream.taskId === "")) {
      yield completed(ownMessage(event.value));
      this.#mirror.end();
      return;
    }
    if (event.case !== "message") yield* this.#learn(event.case === "task" ? event.value.id : event.value.taskId, event.value.contextId);
    const ends = event.case === "statusUpdate" && isTerminal(event.value.status?.state ?? TaskState.UNSPECIFIED);
    const whole = ends && incomplete.size > 0 ? await this.#whole() : undefined;
    if (whole !== undefined) yield* this.#mirror.reconcile(whole);
    yield* this.#mirror.take(event);
  }

  /** The upstream's task as it tells it when asked: what a cut stream has left out is in it. */
  async #whole(): Promise<Task | undefined> {
    const { client } = this.#agent;
    return client.getTask(this.#upstream?.taskId ?? "", this.#extras()).catch(() => undefined);
  }

  /** Keeps in the log where the upstream's task is. */
  async *#learn(taskId: string, contextId: string): AsyncGenerator<AgentEvent> {
    const { messageId } = this.#message;
    const known = this.#upstream;
    if (known?.taskId === taskId && known.messageId === messageId) return;
    this.#upstream = { taskId, contextId, messageId };
    yield memo(toMemo(this.#upstream));
    if (this.#cancelAsked) this.#cancelUpstream();
  }

  #stop(): void {
    const reason: unknown = this.#turn.signal.reason;
    const cause = reason instanceof TurnAborted ? reason.abortCause : "draining";
    if (cause === "canceled" || cause === "failed") {
      this.#cancelAsked = true;
      this.#cancelUpstream();
    }
    // Another owner reads on; of a canceled task the upstream may still say how it ended.
    if (cause === "canceled") void pause(CANCEL_MS, this.#over.signal).then(() => this.#end());
    else this.#end();
  }

  #end(): void {
    this.#over.abort();
    void this.#reading?.close();
  }

  #cancelUpstream(): void {
    const taskId = this.#upstream?.taskId ?? "";
    if (taskId === "") return;
    // What the upstream answers is in its stream too; one that cannot be canceled goes on, and ours ends after its grace.
    this.#agent.client.cancelTask(taskId, this.#extras()).catch(() => undefined);
  }

  #extras(): ReturnType<UpstreamAgent["extrasOf"]> {
    return this.#agent.extrasOf(this.#turn);
  }

  /** The upstream cannot be read now, has lost the task, or has refused the message. True where the turn is over. */
  async *#recover(error: unknown): AsyncGenerator<AgentEvent, boolean> {
    if (error instanceof A2AError && error.reason === "TASK_NOT_FOUND") return yield* this.#lost();
    if (error instanceof Untold) {
      yield failed("nobody can tell what became of the message to the upstream agent; the work may have run");
      return true;
    }
    if (isAway(error)) {
      const { awayMs } = this.#agent.options;
      if (Date.now() - this.#heard < awayMs) {
        // What was sent and not answered is looked for before it is sent again.
        if (!(error instanceof A2AError && error.unreached)) this.#unheard = true;
        await pause(ROUND_MS, this.#over.signal);
        return this.#over.signal.aborted;
      }
      yield failed(`the upstream agent has been away for ${Math.round(awayMs / 1000)} s`);
      return true;
    }
    return yield* this.#refused(error);
  }

  /** The upstream knows the task no more. */
  async *#lost(): AsyncGenerator<AgentEvent, boolean> {
    const again = this.#agent.options.lost === "rerun" && this.#message === this.#turn.message && this.#reruns < MAX_RERUNS;
    if (!again) {
      yield failed("the upstream agent does not know the task any more; the work may have run");
      return true;
    }
    this.#reruns += 1;
    this.#upstream = undefined;
    return false;
  }

  /** The upstream has refused the message. On a task that it waits with, it waits on. */
  async *#refused(error: unknown): AsyncGenerator<AgentEvent, boolean> {
    const { headers } = this.#turn;
    const refusal = refusalOf(error, { ownCredentials: Object.keys(headers).length > 0 });
    const why = refusal === undefined ? "the upstream agent did not take the message" : `the upstream agent refused: ${refusal.message}`;
    const whole = this.#upstream?.taskId ? await this.#whole() : undefined;
    if (whole === undefined || whole.status === undefined) {
      yield failed(why);
      return true;
    }
    yield* this.#mirror.reconcile(whole);
    if (!isTerminal(this.#mirror.state)) yield status(TaskState.INPUT_REQUIRED, why);
    return true;
  }
}

/** What goes upstream of a call. */
function callOf(turn: Turn, message: Message): UpstreamCall {
  const { contextId, principal, tenant, metadata, acceptedOutputModes, extensions, headers } = turn;
  return { contextId, principal, tenant, metadata, acceptedOutputModes, extensions, headers, message, memoOf: (id) => turn.memoOf(id) };
}

/** Whether an error says only that the upstream cannot be heard now. */
function isAway(error: unknown): boolean {
  if (error instanceof StillRunningError || error instanceof UnknownOutcomeError) return true;
  return error instanceof A2AError && (isTransient(error) || error.unreached);
}
