/** One lease at work: turn after turn until the task is at rest, terminal, handed over or lost. */
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Command } from "../../gen/throughline/v1/log_pb.ts";
import { isRefused, TaskError } from "../core/errors.ts";
import type { Placed } from "../core/fold.ts";
import { isNewer } from "../core/format.ts";
import type { Position } from "../core/log-entry.ts";
import type { Lease, Renewal, RenewReply } from "../core/storage.ts";
import { isInterrupted, isTerminal } from "../core/task.ts";
import { messageOf } from "./agent-turn.ts";
import { statusEvent } from "./agent-response.ts";
import type { LeaseContext, LeaseStart } from "./lease-context.ts";
import { untilAnswered } from "../core/retrying.ts";
import { LogWriter } from "./log-writer.ts";
import { RecentEntries } from "./recent-entries.ts";
import { tellCanceled } from "./tell-canceled.ts";
import { TurnRun } from "./turn.ts";

/** A task that this replica owns. */
export class LeasedTask {
  readonly lease: Lease;
  readonly #context: LeaseContext;
  readonly #start: LeaseStart;
  readonly #writer: LogWriter;
  readonly #recent: RecentEntries;
  /** Commands not yet given to the agent. */
  readonly #commands: Placed[] = [];
  #awaiting: (() => void) | undefined;
  #turn: TurnRun | undefined;
  #cancelTimer: NodeJS.Timeout | undefined;
  #cancelAsked: boolean;
  #overflow: TaskError | undefined;
  #handingOver: Promise<void> | undefined;
  readonly #load: (change: 1 | -1) => void;
  #counted = false;
  #done = false;

  /** `load` is called with 1 when the task begins to count against capacity, with -1 when it stops. */
  constructor(context: LeaseContext, start: LeaseStart, load: (change: 1 | -1) => void) {
    this.#context = context;
    this.#load = load;
    this.#start = start;
    this.lease = start.lease;
    // The fold may have seen a cancel that came after the record was read.
    this.#cancelAsked = start.cancelRequested || start.fold.commands.some(({ command }) => command.kind.case === "cancel");
    this.#recent = new RecentEntries(context.storage.shared ? context.options.healWindowMs : 0);
    this.#writer = new LogWriter({
      storage: context.storage,
      lease: start.lease,
      measures: context.measures,
      recent: this.#recent,
      refold: () => context.snapshots.fresh(start.lease.taskId),
      fold: start.fold,
      consumed: start.consumed,
      maxTaskBytes: context.options.maxTaskBytes,
      maxEventBytes: context.options.limits.eventBytes,
      onCommand: (placed) => this.#command(placed),
      onRewound: (offset) => this.#rewound(offset),
      onTrouble: (error) => context.log.error({ taskId: start.lease.taskId, error }, "a checkpoint could not be stored"),
      onState: () => {
        this.#count();
        this.#turn?.stateChanged();
      },
      onClosed: (error) => this.#closed(error),
    });
    for (const placed of start.fold.commands) {
      if (placed.offset > start.consumed && messageOf(placed.command) !== undefined) this.#commands.push(placed);
    }
    this.#count();
  }

  /** Tells the worker where this task begins or stops to count: a turn that waits for its caller does not. */
  #count(): void {
    const counts = !this.#done && !isInterrupted(this.#writer.state);
    if (counts === this.#counted) return;
    this.#counted = counts;
    this.#load(counts ? 1 : -1);
  }

  /** The worker has let go of the task. */
  done(): void {
    this.#done = true;
    this.#count();
  }

  /** What this lease tells when it is renewed, and what to do with the answer. */
  renewal(): { readonly renewal: Renewal; readonly renewed: (reply: RenewReply) => void } {
    this.#recent.trim();
    const known = this.#writer.fold.position;
    const renewal = { lease: this.lease, consumed: this.#writer.consumed };
    return { renewal, renewed: (reply) => this.#renewed(reply, known) };
  }

  /** `known` is where the log ended for all that this owner knew when it asked: a log never grows shorter, unless the store lost its end. */
  #renewed(reply: RenewReply, known: Position): void {
    // The terminal event ended the lease: its append is answered, or will be.
    if (this.#writer.closed || (reply.is === "fenced" && isTerminal(this.#writer.state))) return;
    this.#context.measures.renewed(reply.is === "unknown" ? "failed" : reply.is, 1);
    if (reply.is !== "held") return reply.is === "fenced" ? this.fence() : undefined;
    const { offset, mark } = reply.end;
    if (offset < known.offset || (offset === known.offset && mark !== known.mark)) this.#writer.heal();
    else if (offset > this.#writer.fold.position.offset) this.hint();
  }

  /** The lease is another replica's. */
  fence(): void {
    this.#writer.close(new TaskError("INTERNAL", "the lease went to another replica"));
  }

  /** A command may have come. */
  hint(): void {
    if (!this.#writer.closed) this.#writer.hint();
  }

  /** Runs until this replica has nothing more to do with the task. Never rejects. */
  async run(): Promise<void> {
    try {
      if (!this.#over && (await this.#takeover())) await this.#turns();
    } catch (error) {
      this.#context.log.error({ taskId: this.lease.taskId, error }, "a lease broke off");
      this.#writer.close();
    } finally {
      clearTimeout(this.#cancelTimer);
      await this.#handingOver;
    }
  }

  /** Whether a drain hands this task over instead of waiting for it. */
  get movable(): boolean {
    return this.#context.agent.resumable === true || isInterrupted(this.#writer.state);
  }

  /**
   * Gives the task to whoever takes it next: stops its events, awaits the append in flight, releases, then aborts the turn. A store that
   * is away is waited for until `over` aborts; then the lease runs out by itself.
   */
  handOver(over: AbortSignal): Promise<void> {
    this.#handingOver ??= this.#writer.closed ? Promise.resolve() : this.#handOver(over);
    return this.#handingOver;
  }

  async #handOver(over: AbortSignal): Promise<void> {
    this.#turn?.pauseEvents();
    const late = (): void => this.#writer.close();
    if (over.aborted) late();
    over.addEventListener("abort", late, { once: true });
    await this.#writer.flush();
    over.removeEventListener("abort", late);
    if (!this.#writer.closed) {
      await this.#giveBack();
      this.#writer.close();
    }
    this.#turn?.cutOff("draining");
  }

  /** This replica has nothing more to say on the task. */
  get #over(): boolean {
    return this.#handingOver !== undefined || this.#writer.closed;
  }

  async #giveBack(): Promise<void> {
    try {
      if (!isInterrupted(this.#writer.state) || !(await this.#rest())) await this.#release("ready");
    } catch (error) {
      // Fenced, or the store is away: the lease runs out by itself.
      this.#context.log.warn({ taskId: this.lease.taskId, error }, "the lease could not be given back");
    }
  }

  /** The rules for a lease that another replica may have held (docs/agents.md). Answers whether there is a turn to run. */
  async #takeover(): Promise<boolean> {
    const { attempts, begun = false } = this.#start;
    const { agent, options, measures, log } = this.#context;
    const again = attempts > 1 || begun;
    const resumes = agent.resumable === true && attempts <= options.maxAttempts;
    if (!this.#cancelAsked && isInterrupted(this.#writer.state) && this.#commands.length === 0) return !(await this.#rest());
    if (again) {
      const how = this.#cancelAsked ? "canceled" : resumes ? "resumed" : "failed";
      measures.tookOver(how);
      log.info({ taskId: this.lease.taskId, attempt: attempts, how }, "a turn was taken over");
    }
    if (this.#cancelAsked) return this.#endCanceled().then(() => false);
    if (!again || resumes) return true;
    const cause =
      agent.resumable === true ? `it was cut off ${attempts - 1} times` : "the replica that ran it went away, and this agent cannot resume";
    await this.#end(TaskState.FAILED, `the task did not finish: ${cause}`);
    return false;
  }

  async #turns(): Promise<void> {
    const { attempts, begun = false } = this.#start;
    let input = this.#firstInput(begun);
    let [attempt, resumed] = [Math.max(1, attempts), attempts > 1 || begun];
    for (;;) {
      if (this.#over) return;
      if (this.#cancelAsked) return this.#endCanceled();
      if (input === undefined) return this.#end(TaskState.FAILED, "the task has no message to work on");
      this.#writer.consumed = Math.max(this.#writer.consumed, input.offset);
      const end = await this.#runTurn(input, attempt, resumed);
      if (end === "settled" || this.#over) return;
      const over = !this.#cancelAsked && (await this.#settle());
      // The next turn begins with all that this one has yielded.
      if (!over) await this.#writer.flush();
      if (this.#overflow !== undefined) return this.#end(TaskState.FAILED, this.#overflow.message);
      if (over) return;
      input = this.#commands.shift();
      [attempt, resumed] = [1, false];
    }
  }

  async #runTurn(input: Placed, attempt: number, resumed: boolean): Promise<"settled" | "returned"> {
    const { options, measures } = this.#context;
    this.#turn = new TurnRun({
      ...this.#context,
      writer: this.#writer,
      input,
      attempt,
      resumed,
      workingAfterMs: options.workingAfterMs,
      limits: options.limits,
      memoOf: async (id, scope) => (await this.#context.snapshots.current(id, scope))?.snapshot.memo,
      next: (signal, over) => this.#nextCommand(signal, over),
    });
    measures.turnBegan();
    const end = await this.#turn.run();
    measures.turnOver();
    this.#turn = undefined;
    this.#awaiting?.();
    return end;
  }

  /** The turn returned. At rest: give the lease back. Otherwise it is COMPLETED. False where a command waits: another turn follows. */
  async #settle(): Promise<boolean> {
    if (isInterrupted(this.#writer.state)) {
      await this.#writer.flush();
      return this.#overflow !== undefined || this.#rest();
    }
    if (this.#overflow !== undefined) return true;
    // What it yielded goes into one append with its end.
    if (this.#commands.length > 0) return false;
    if (await this.#writer.pushUnlessPending(this.#status(TaskState.COMPLETED))) return true;
    await this.#catchUp();
    return false;
  }

  /** Gives the lease of a task at rest back. False where a command waits; it is known then. */
  async #rest(): Promise<boolean> {
    try {
      await this.#release("rest");
      this.#writer.close();
      return true;
    } catch (error) {
      if (!isRefused(error, "PENDING")) throw error;
      await this.#catchUp();
      return false;
    }
  }

  /** Learns of a command that so far only the store knows. */
  async #catchUp(): Promise<void> {
    if (this.#commands.length > 0 || this.#cancelAsked) return;
    this.#writer.hint();
    await this.#writer.flush();
  }

  /** The command that an earlier owner's turn had been given, or the next one. */
  #firstInput(begun: boolean): Placed | undefined {
    const { fold, consumed } = this.#writer;
    const given = begun ? fold.commands.find(({ offset }) => offset === consumed) : undefined;
    return given ?? this.#commands.shift() ?? fold.commands.findLast(({ command }) => messageOf(command) !== undefined);
  }

  async #nextCommand(signal: AbortSignal, over: () => boolean): Promise<Command | undefined> {
    while (!signal.aborted && !over()) {
      const placed = this.#commands.shift();
      if (placed !== undefined) {
        this.#writer.consumed = Math.max(this.#writer.consumed, placed.offset);
        await this.#noteGiven();
        return placed.command;
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      const wake = (): void => resolve();
      this.#awaiting = wake;
      signal.addEventListener("abort", wake, { once: true });
      await promise;
      signal.removeEventListener("abort", wake);
      this.#awaiting = undefined;
    }
    return undefined;
  }

  /** Another owner is to know that the message was given: it would begin with it as if nobody had seen it. */
  async #noteGiven(): Promise<void> {
    const { storage } = this.#context;
    const { renewal, renewed } = this.renewal();
    const [reply] = await untilAnswered(
      () => storage.renew([renewal]),
      () => this.#over,
    );
    if (reply !== undefined) renewed(reply);
  }

  #command(placed: Placed): void {
    if (placed.command.kind.case === "cancel") {
      if (this.#cancelAsked) return;
      this.#cancelAsked = true;
      this.#abortTurn();
      return;
    }
    this.#commands.push(placed);
    this.#awaiting?.();
  }

  /** Commands of a history that is lost are given to nobody. */
  #rewound(offset: number): void {
    this.#commands.splice(0, Infinity, ...this.#commands.filter((placed) => placed.offset <= offset));
  }

  #abortTurn(): void {
    // Between two turns there is nothing to wait for.
    if (this.#turn === undefined) return;
    this.#turn.abort("canceled");
    this.#cancelTimer = setTimeout(() => this.#turn?.cutOff("canceled"), this.#context.options.cancelGraceMs);
  }

  /** The writer can write no more: lost lease, sealed log, or a task over its bound. */
  #closed(error: unknown): void {
    if (error instanceof TaskError && error.reason === "RESOURCE_EXHAUSTED") {
      this.#overflow = error;
      this.#turn?.cutOff("failed");
      return;
    }
    if (isNewer(error)) this.#handingOver ??= this.#giveBack();
    this.#context.log.warn({ taskId: this.lease.taskId, error }, "the lease is lost");
    this.#turn?.cutOff("lease-lost");
  }

  /** No turn runs that would hear of it. */
  async #endCanceled(): Promise<void> {
    await this.#end(TaskState.CANCELED);
    if (this.#writer.state !== TaskState.CANCELED) return;
    const { task, memo, commands } = this.#writer.fold;
    const command = commands.findLast(({ command: { kind } }) => kind.case === "cancel")?.command;
    tellCanceled(this.#context, { taskId: task.id, contextId: task.contextId, memo, command });
  }

  async #end(state: TaskState, text?: string): Promise<void> {
    if (this.#writer.closed || isTerminal(this.#writer.state)) return;
    await this.#writer.push(this.#status(state, text), { unbounded: true });
    await this.#writer.flush();
  }

  #status(state: TaskState, text?: string): ReturnType<typeof statusEvent> {
    const { id, contextId } = this.#writer.fold.task;
    return statusEvent(state, text, { taskId: id, contextId, now: this.#writer.now() });
  }

  #release(to: "rest" | "ready"): Promise<void> {
    return this.#context.storage.release(this.lease, to, this.#writer.consumed);
  }
}
