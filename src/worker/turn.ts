/** One run of the agent: its events into the log, its end into a state. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { StreamResponse } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Command } from "../../gen/throughline/v1/log_pb.ts";
import { type AbortCause, type Agent, TurnAborted } from "../core/agent.ts";
import { TaskError } from "../core/errors.ts";
import type { AgentEvent } from "../core/events.ts";
import type { Placed } from "../core/fold.ts";
import type { Scope } from "../core/scope.ts";
import { isInterrupted, isTerminal } from "../core/task.ts";
import type { Log } from "../core/telemetry.ts";
import { type TracedWork, type Tracing, UNTRACED } from "../core/tracing.ts";
import { turnOf } from "./agent-turn.ts";
import { announceArtifact, completeEvent, completeMemo, statusEvent } from "./agent-response.ts";
import { type LogWriter, WriterClosed } from "./log-writer.ts";
import { traceOf, traceTime } from "./stored-trace.ts";
import { ArtifactCount, BoundExceeded, TurnClock, type TurnLimits } from "./turn-bounds.ts";

/**
 * An agent that never awaits must not keep the event loop for longer than this, nor make more than one reader is sent in a round of it: a reader that
 * takes whatever comes would fall behind the log's window.
 */
const SLICE_MS = 1;
const SLICE_BYTES = 32 * 1024;
/** But so many events are taken together at least: many turns at once would otherwise store theirs one by one, which costs more. */
const SLICE_EVENTS = 16;

/** Counts the rounds of the event loop in which turns took events. */
let round = 0;
let counting = false;

function loopRound(): number {
  if (!counting) {
    counting = true;
    setImmediate(() => {
      counting = false;
      round += 1;
    });
  }
  return round;
}

/** How long one turn keeps the event loop; what its agent waits for does not count. */
class Slice {
  #round = -1;
  #began = 0;
  #events = 0;

  /** Whether it is the others' turn, after one more event; so many bytes wait to be stored. */
  spent(waiting: number): boolean {
    const now = performance.now();
    const current = loopRound();
    if (current !== this.#round) {
      this.#round = current;
      this.#began = now;
      this.#events = 0;
    }
    this.#events += 1;
    return waiting >= SLICE_BYTES || (this.#events >= SLICE_EVENTS && now - this.#began > SLICE_MS);
  }
}

/**
 * How a turn ended: `settled` has its last state in the log or lost the right to write it; `returned` is not at rest or interrupted, and what it
 * yielded last may still be on its way.
 */
export type TurnEnd = "settled" | "returned";

/** What a turn needs. */
export interface TurnInit {
  readonly agent: Agent;
  readonly writer: LogWriter;
  readonly input: Placed;
  readonly attempt: number;
  readonly resumed: boolean;
  readonly workingAfterMs: number;
  readonly limits: TurnLimits;
  /** The last memo of another task of this scope. */
  readonly memoOf: (taskId: string, scope: Scope) => Promise<JsonObject | undefined>;
  /** The next command with a message, given to the agent while it runs. */
  readonly next: (signal: AbortSignal, over: () => boolean) => Promise<Command | undefined>;
  readonly tracing?: Tracing | undefined;
  readonly log: Log;
}

/** Runs an agent once. */
export class TurnRun {
  readonly #init: TurnInit;
  readonly #abort = new AbortController();
  readonly #end = Promise.withResolvers<void>();
  readonly #announced = new Set<string>();
  readonly #count: ArtifactCount;
  readonly #clock: TurnClock;
  readonly #work: TracedWork;
  #iterator: AsyncIterator<AgentEvent> | undefined;
  /** Nothing that the agent yields counts any more. */
  #over = false;
  #threw: { readonly error: unknown } | undefined;

  constructor(init: TurnInit) {
    this.#init = init;
    this.#count = new ArtifactCount(init.limits, init.writer.fold.task);
    this.#clock = new TurnClock(init.limits.maxTurnMs, () => this.#tooLong());
    const { writer, attempt, tracing = UNTRACED } = init;
    const { command } = init.input;
    const { id: taskId, contextId } = writer.fold.task;
    this.#work = tracing.begin({ kind: "turn", taskId, contextId, attempt, trace: traceOf(command), since: traceTime(command) });
  }

  /** Runs until the agent has returned, thrown, ended the task, or was cut off. Never rejects. */
  async run(): Promise<TurnEnd> {
    const end = await this.#run();
    const reason: unknown = this.#abort.signal.reason;
    this.#work.ended(reason instanceof TurnAborted ? reason.abortCause : end, this.#threw !== undefined && !this.canceled);
    return end;
  }

  async #run(): Promise<TurnEnd> {
    const { writer, workingAfterMs } = this.#init;
    // Its message came before the interruption, which is answered by it.
    if (isInterrupted(writer.state)) void writer.push(this.status(TaskState.WORKING));
    const working = setTimeout(() => this.#pushWorking(), workingAfterMs);
    this.stateChanged();
    void this.#work.run(() => this.#consume());
    await this.#end.promise;
    clearTimeout(working);
    this.#clock.stop();
    this.#over = true;
    if (this.#threw !== undefined) await this.#fail(this.#threw.error);
    if (!writer.closed && !isTerminal(writer.state)) return "returned";
    await writer.flush();
    return "settled";
  }

  get canceled(): boolean {
    const reason: unknown = this.#abort.signal.reason;
    return reason instanceof TurnAborted && reason.abortCause === "canceled";
  }

  /** The state after all that was pushed is another one: time counts while the turn works. */
  stateChanged(): void {
    if (this.#over || isInterrupted(this.#init.writer.state)) this.#clock.stop();
    else this.#clock.run();
  }

  #tooLong(): void {
    if (this.#over) return;
    this.#threw = { error: new BoundExceeded(`the turn took longer than ${this.#init.limits.maxTurnMs} ms`) };
    this.cutOff("failed");
  }

  /** Asks the agent to stop; what it yields from now on still counts. */
  abort(cause: AbortCause): void {
    this.#abort.abort(new TurnAborted(cause));
  }

  /** Stops the turn for good: nothing that the agent yields or throws counts. */
  cutOff(cause: AbortCause): void {
    this.#over = true;
    this.abort(cause);
    this.#end.resolve();
    this.#leave();
  }

  /** Takes no more events from the agent, which goes on unaware until it is cut off. */
  pauseEvents(): void {
    this.#over = true;
  }

  async #consume(): Promise<void> {
    try {
      const turn = turnOf(this.#init, this.#work.trace, this.#abort.signal, () => this.#over);
      const iterator = this.#init.agent.run(turn)[Symbol.asyncIterator]();
      this.#iterator = iterator;
      const slice = new Slice();
      for (;;) {
        const { done, value } = await iterator.next();
        if (this.#over) return this.#leave();
        if (done === true) break;
        const full = this.#accept(value);
        if (isTerminal(this.#init.writer.state)) {
          this.#leave();
          break;
        }
        if (full !== undefined) await full;
        else if (slice.spent(this.#init.writer.waiting)) await new Promise((resolve) => setImmediate(resolve));
      }
    } catch (error) {
      this.#leave();
      if (this.#over) return;
      if (!(error instanceof WriterClosed)) this.#threw = { error };
      if (error instanceof BoundExceeded) this.abort("failed");
    }
    this.#end.resolve();
  }

  #accept(yielded: AgentEvent): Promise<void> | undefined {
    const { writer } = this.#init;
    if (yielded?.case === "memo") return writer.pushMemo(completeMemo(yielded.value));
    const event = completeEvent(yielded, this.#place());
    if (event.payload.case === "artifactUpdate") {
      if (writer.state === TaskState.SUBMITTED) this.#pushWorking();
      announceArtifact(event, writer.fold.task, this.#announced);
      this.#announced.add(event.payload.value.artifact?.artifactId ?? "");
    }
    this.#count.add(event);
    return writer.push(event);
  }

  #pushWorking(): void {
    const { writer } = this.#init;
    if (this.#over || writer.closed || writer.state !== TaskState.SUBMITTED) return;
    void writer.push(this.status(TaskState.WORKING));
  }

  /** A status event of the worker's own. */
  status(state: TaskState, text?: string): StreamResponse {
    return statusEvent(state, text, this.#place());
  }

  async #fail(error: unknown): Promise<void> {
    const { writer, log, input } = this.#init;
    if (writer.closed || isTerminal(writer.state)) return;
    const facts = { taskId: writer.fold.task.id, command: input.offset, error };
    if (this.canceled) {
      // What an agent's tools throw because of this very abort is no news.
      if (!(error instanceof TurnAborted) && !(error instanceof Error && error.name === "AbortError"))
        log.info(facts, "a canceled turn threw");
      await writer.push(this.status(TaskState.CANCELED), { unbounded: true });
      return;
    }
    if (error instanceof BoundExceeded) {
      log.warn(facts, error.message);
      await writer.push(this.status(TaskState.FAILED, error.message), { unbounded: true });
      return;
    }
    const invalid = error instanceof TaskError && error.reason === "INVALID_AGENT_RESPONSE";
    log.error(facts, invalid ? `the agent's response is not valid: ${error.message}` : "the agent threw");
    const text = invalid ? "InvalidAgentResponse: the agent gave a response that is not valid A2A" : "the agent failed";
    await writer.push(this.status(TaskState.FAILED, text), { unbounded: true });
  }

  /** Lets the agent's `finally` run; whatever it does there is no longer awaited. Never throws: an iterator by hand may be anything. */
  #leave(): void {
    const { log, writer } = this.#init;
    const iterator = this.#iterator;
    const left = async (): Promise<void> => {
      await iterator?.return?.();
    };
    left().catch((error: unknown) => {
      log.warn({ taskId: writer.fold.task.id, error }, "the agent threw after its turn had ended");
    });
  }

  #place(): { taskId: string; contextId: string; now: number } {
    const { writer } = this.#init;
    const { id, contextId } = writer.fold.task;
    return { taskId: id, contextId, now: writer.now() };
  }
}
