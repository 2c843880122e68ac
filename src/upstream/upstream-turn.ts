/** One turn of a task that the upstream works on. */
import { type Message, type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type Turn, TurnAborted } from "../core/agent.ts";
import { type AgentEvent, completed, failed, memo, status, working } from "../core/events.ts";
import { pause } from "../core/pause.ts";
import { isInterrupted, isTerminal, stateOf } from "../core/task.ts";
import { A2AError, type RunEvent, UnknownOutcomeError } from "../client/index.ts";
import { isAnswer, isAway, isDenied, isLost, isUncarried, retryAfterMs } from "./failures.ts";
import { Untold } from "./find-task.ts";
import { Inbox } from "./inbox.ts";
import { Mirror } from "./mirror.ts";
import { ownMessage, upstreamMessage } from "./own-message.ts";
import type { Read, Reading } from "./reading.ts";
import { SentMessage } from "./sent-message.ts";
import type { UpstreamAgent } from "./upstream-agent.ts";

/** Why what is under way for a turn ends with it; one for all, since errors are dear. */
const OVER = new Error("the turn is over");

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
  readonly #sent: SentMessage;
  #reading: Reading | undefined;
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
    this.#sent = new SentMessage(agent, turn);
    this.#inbox = new Inbox(turn);
    this.#mirror = new Mirror(turn.task);
    // With the message that this turn answers the task works again, whatever it waited for.
    if (isInterrupted(this.#mirror.state)) this.#mirror.enter(TaskState.WORKING);
  }

  /** The upstream's events, as ours. Who leaves them early does not have to wait for the next one. */
  events(): AsyncIterableIterator<AgentEvent, void> {
    const { signal } = this.#turn;
    const stop = (): void => this.#stop();
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    const end = (): void => {
      signal.removeEventListener("abort", stop);
      this.#end();
    };
    const events = this.#work(end);
    return {
      next: () => events.next(),
      return: () => {
        end();
        return events.return();
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  async *#work(end: () => void): AsyncGenerator<AgentEvent, void> {
    try {
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
    } finally {
      end();
    }
  }

  /** Where the next events come from; undefined where the message is not to be sent any more. */
  async *#begin(): AsyncGenerator<AgentEvent, Reading | undefined> {
    const sent = this.#sent;
    const adopted = sent.reached === "no" ? undefined : this.#agent.firstWords.adopt(this.#turn, sent.digest);
    if (adopted !== undefined) {
      this.#stage = sent.reached === "yes" ? "follow" : "send";
      return adopted;
    }
    if (sent.reached === "maybe") {
      this.#stage = "find";
      const found = await sent.find(this.#over.signal);
      this.#heard = Date.now();
      if (found !== undefined) {
        this.#agent.sight.heard();
        yield* this.#learn(found.id, found.contextId);
      }
    }
    if (sent.reached === "yes") {
      this.#stage = "follow";
      this.#doubtful = true;
      return this.#agent.follow(sent.on?.taskId ?? "", this.#turn, { polls: this.#polls });
    }
    if (this.#canceled) return undefined;
    const message = await upstreamMessage(sent.message, this.#turn, sent.on);
    this.#stage = "send";
    sent.reached = "maybe";
    return this.#agent.send(message, this.#turn);
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
      const { event } = step.event;
      // Most events are chunks, and most of what they cost would be the way to here.
      if (event.case === "artifactUpdate" && this.#sent.isWith(event.value.taskId)) {
        for (const own of this.#mirror.take(event)) yield own;
        continue;
      }
      yield* this.#take(step.event, first);
      if (isTerminal(this.#mirror.state)) return true;
      if (this.#polls && this.#mirror.state === TaskState.INPUT_REQUIRED) return this.#atRest();
    }
  }

  /** The next thing that happens. A message is taken when the upstream has the one before it. */
  #step(reading: Reading): Promise<Step> {
    const attends = this.#sent.reached === "yes" && (this.#agent.acceptsMessages || isInterrupted(this.#mirror.state));
    if (attends) this.#inbox.listen();
    return this.#inbox.listens ? this.#eitherOf(reading, attends) : reading.next();
  }

  async #eitherOf(reading: Reading, attends: boolean): Promise<Step> {
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
    this.#sent.replace(message);
    if (isInterrupted(this.#mirror.state)) this.#mirror.enter(TaskState.WORKING);
  }

  /** What was read has come to its end; where that is no rest, the upstream is asked how its task stands. True where the turn is over. */
  async *#ended(): AsyncGenerator<AgentEvent, boolean> {
    if (isInterrupted(this.#mirror.state)) return this.#atRest();
    this.#stage = "find";
    yield* this.#mirror.reconcile(await this.#agent.client.getTask(this.#sent.on?.taskId ?? "", this.#extras()));
    if (isTerminal(this.#mirror.state)) return true;
    return isInterrupted(this.#mirror.state) && this.#atRest();
  }

  /** The task waits for its caller. True where the turn is over: the caller's answer begins another one. */
  #atRest(): boolean {
    const message = this.#inbox.take();
    if (message !== undefined) this.#goOnWith(message);
    // An authorization may come by another way, an agent may say more after its question (CL-07). An upstream that has to be asked is not
    // asked for as long as a person thinks.
    return message === undefined && this.#polls && this.#mirror.state === TaskState.INPUT_REQUIRED;
  }

  async *#take({ event, incomplete }: RunEvent, first: boolean): AsyncGenerator<AgentEvent> {
    if (event.case === undefined) return;
    const { on } = this.#sent;
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
      const end = event.case === "statusUpdate" && isTerminal(event.value.status?.state ?? TaskState.UNSPECIFIED) ? event.value : undefined;
      const whole = end !== undefined && (this.#doubtful || incomplete.size > 0) ? await this.#whole() : undefined;
      // One that does not know of its end yet may not know of all its artifacts either.
      if (end !== undefined && whole !== undefined && isTerminal(stateOf(whole))) yield* this.#mirror.end(end, whole);
      else yield* this.#mirror.take(event);
    }
  }

  /** The upstream's task as it tells it when asked: what a cut stream has left out is in it. */
  async #whole(): Promise<Task | undefined> {
    const taskId = this.#sent.on?.taskId;
    return taskId === undefined ? undefined : this.#agent.client.getTask(taskId, this.#extras()).catch(() => undefined);
  }

  /** Keeps in the log where the upstream's task is, and that it has the message. */
  async *#learn(taskId: string, contextId: string): AsyncGenerator<AgentEvent> {
    if (this.#sent.isWith(taskId)) return;
    this.#stage = "follow";
    const news = this.#sent.arrived(taskId, contextId);
    if (this.#canceled) this.#agent.cancel(this.#sent.memo(taskId, contextId), this.#turn);
    if (news !== undefined) yield memo(news);
  }

  #stop(): void {
    const reason: unknown = this.#turn.signal.reason;
    const cause = reason instanceof TurnAborted ? reason.abortCause : "draining";
    this.#canceled = cause === "canceled" || cause === "failed";
    // What the upstream answers is in its stream too: of a canceled task it may still say how it ended.
    if (this.#canceled && this.#sent.on !== undefined) this.#agent.cancel(this.#sent.on, this.#turn);
    // Another owner reads on.
    if (cause !== "canceled") this.#end();
  }

  /** Reads no more. It may be called again, for what was opened meanwhile. */
  #end(): void {
    const ended = this.#over.signal.aborted;
    this.#over.abort(OVER);
    const reading = this.#reading;
    this.#reading = undefined;
    // The upstream may work on what nobody wants any more.
    if (!ended && this.#canceled && this.#sent.reached === "maybe") this.#agent.cancel(this.#sent.memo(), this.#turn, reading);
    // One that has brought its last event ends by itself.
    else if (isTerminal(this.#mirror.state)) void reading?.finish();
    else void reading?.close();
  }

  #extras(): ReturnType<UpstreamAgent["extrasOf"]> & { readonly signal: AbortSignal } {
    return { ...this.#agent.extrasOf(this.#turn), signal: this.#over.signal };
  }

  /** The upstream cannot be read now, has lost the task, or has refused the message. True where the turn is over. */
  async *#recover(error: unknown): AsyncGenerator<AgentEvent, boolean> {
    if (error instanceof UnknownOutcomeError && error.taskId !== undefined && this.#stage === "send" && this.#sent.reached !== "yes") {
      yield* this.#learn(error.taskId, error.contextId ?? "");
      return false;
    }
    if (error instanceof Untold) {
      yield this.#fails("nobody can tell what became of the message to the upstream agent; the work may have run", error);
      return true;
    }
    const { sight } = this.#agent;
    if (isAway(error)) {
      // It may be our own store that is.
      if (error instanceof A2AError) sight.away(error);
      return yield* this.#wait(error);
    }
    if (!(error instanceof A2AError)) throw error;
    if (isAnswer(error)) sight.heard();
    const asked = this.#stage === "find" || this.#polls;
    if (this.#sent.on !== undefined && isLost(error, { asked })) {
      if (asked || this.#stage === "send") return yield* this.#lost();
      // Some servers stream only what runs in their own process: GetTask knows.
      this.#polls = true;
      return false;
    }
    if (this.#stage === "send") return yield* this.#refused(error);
    if (isDenied(error)) {
      yield this.#fails("the upstream agent does not let its task be read any more; the work may have run", error);
      return true;
    }
    if (asked) return yield* this.#wait(error);
    this.#polls = true;
    return false;
  }

  /** The front's own word on a task that the upstream will say nothing more of; the log has it too. */
  #fails(why: string, error?: unknown): AgentEvent {
    this.#agent.options.log.warn({ ...this.#ids(), error }, `a task ends FAILED: ${why}`);
    return failed(why);
  }

  #ids(): Readonly<Record<string, string | undefined>> {
    const { taskId, contextId } = this.#turn;
    return { taskId, contextId, upstreamTaskId: this.#sent.on?.taskId };
  }

  /** Comes again in a while, unless the upstream has been away for too long. */
  async *#wait(error: unknown): AsyncGenerator<AgentEvent, boolean> {
    const { awayMs, retryMs } = this.#agent.options;
    if (this.#stage === "send" && this.#sent.reached === "maybe" && isUncarried(error)) this.#sent.reached = "no";
    const leftMs = this.#heard + awayMs - Date.now();
    if (leftMs <= 0) {
      const done = this.#sent.reached === "no" ? "" : "; the work may have run";
      yield this.#fails(`the upstream agent has been away for ${Math.round(awayMs / 1000)} s${done}`, error);
      return true;
    }
    await pause(Math.min(retryAfterMs(error) ?? retryMs, leftMs), this.#over.signal);
    return this.#over.signal.aborted;
  }

  /** The upstream knows the task no more. */
  async *#lost(): AsyncGenerator<AgentEvent, boolean> {
    if (this.#agent.options.lost === "fail" || !this.#sent.begins || this.#reruns >= MAX_RERUNS) {
      yield this.#fails("the upstream agent does not know the task any more; the work may have run");
      return true;
    }
    this.#reruns += 1;
    this.#agent.options.log.warn(this.#ids(), "the upstream agent does not know the task any more; its message is sent again");
    this.#sent.forget();
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
      yield this.#fails(why, error);
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
