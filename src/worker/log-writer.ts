/** The write side of a lease: group commit, one batch in flight, commands folded in where they stand. */
import { equals, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { type StreamResponse, StreamResponseSchema, type TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { CommandSchema } from "../../gen/throughline/v1/log_pb.ts";
import { isRefused, TaskError } from "../core/errors.ts";
import { type Fold, headAfter, type Placed, statusTimeOf } from "../core/fold.ts";
import type { Entry, NewEntry } from "../core/log-entry.ts";
import type { Batch, Lease, Storage } from "../core/storage.ts";
import { isTerminal, stateAfter, stateOf } from "../core/task.ts";
import type { Measures } from "../core/telemetry.ts";
import { Checkpointer } from "./checkpointer.ts";
import { measuredAppend } from "./measured-append.ts";
import { again, changesState, eventsOf, type Pending, pendingEvent, pendingMemo, type PushOptions } from "./pending.ts";
import { lostEntries, type RecentEntries } from "./recent-entries.ts";
import { untilAnswered } from "../core/retrying.ts";
import { BoundExceeded } from "./turn-bounds.ts";

/** Entries and bytes of one batch; what comes while it is in flight goes into the next. */
const BATCH_ENTRIES = 256;
const BATCH_BYTES = 256 * 1024;

/** What a writer needs. */
export interface LogWriterInit {
  readonly storage: Storage;
  readonly lease: Lease;
  /** The task so far; the writer's own from now on. */
  readonly fold: Fold;
  readonly consumed: number;
  readonly maxTaskBytes: number;
  /** Encoded bytes of one event. */
  readonly maxEventBytes: number;
  readonly measures: Measures;
  /** What this writer has appended lately, for a store that may lose it. */
  readonly recent: RecentEntries;
  /** Reads the whole log again. */
  readonly refold: () => Promise<Fold>;
  /** A command that the fold has just passed. */
  readonly onCommand: (placed: Placed) => void;
  /** Another history begins after this offset: commands from beyond it, passed before, are gone. */
  readonly onRewound: (offset: number) => void;
  /** A checkpoint could not be stored, for a reason that nobody expects. The log stands without it. */
  readonly onTrouble: (error: unknown) => void;
  /** The state after all that was pushed is another one now. */
  readonly onState: () => void;
  /** The lease is lost, the log is sealed, or the task went over its bound: nothing more can be written. */
  readonly onClosed: (error: unknown) => void;
}

/** Thrown by {@link LogWriter.push} once nothing more can be written. */
export class WriterClosed extends Error {
  override readonly name = "WriterClosed";
}

/** Writes one task's events under one lease. */
export class LogWriter {
  readonly #init: LogWriterInit;
  #checkpointer: Checkpointer;
  #fold: Fold;
  #pending: Pending[] = [];
  #inFlight: readonly Pending[] = [];
  #pendingBytes = 0;
  #state: TaskState;
  #statusTime: number;
  #hinted = false;
  #rewound = false;
  #looping: Promise<void> | undefined;
  #room: PromiseWithResolvers<void> | undefined;
  #closed = false;
  #refusedPending = false;
  /** Offset of the last command given to the agent. */
  consumed: number;

  constructor(init: LogWriterInit) {
    this.#init = init;
    this.#fold = init.fold;
    this.consumed = init.consumed;
    this.#state = stateOf(init.fold.task);
    this.#statusTime = statusTimeOf(init.fold.task);
    this.#checkpointer = new Checkpointer(init.storage, init.lease, init.onTrouble);
  }

  get fold(): Fold {
    return this.#fold;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Bytes that were pushed and are in no append yet. */
  get waiting(): number {
    return this.#pendingBytes;
  }

  /** The state after all that was pushed. */
  get state(): TaskState {
    return this.#state;
  }

  /** A status timestamp for the next event: never below the last one. */
  now(): number {
    return Math.max(Date.now(), this.#statusTime);
  }

  /** Takes an event. Answers a promise where the caller should wait before the next one. Throws {@link WriterClosed}, and {@link BoundExceeded} for an event that is too large. */
  push(event: StreamResponse, options: PushOptions = {}): Promise<void> | undefined {
    if (this.#closed) throw new WriterClosed("the log takes no more events from this owner");
    const pending = pendingEvent(event, options);
    const { maxEventBytes } = this.#init;
    if (!pending.unbounded && pending.entry.bytes.length > maxEventBytes)
      throw new BoundExceeded(`an event would be larger than ${maxEventBytes} bytes`);
    const state = stateAfter(event);
    if (state !== undefined) {
      this.#enter(state);
      this.#statusTime = this.now();
    }
    return this.#take(pending);
  }

  /** Takes a memo, as {@link push} does an event. */
  pushMemo(value: JsonObject): Promise<void> | undefined {
    if (this.#closed) throw new WriterClosed("the log takes no more memos from this owner");
    return this.#take(pendingMemo(value));
  }

  #take(pending: Pending): Promise<void> | undefined {
    this.#pending.push(pending);
    this.#pendingBytes += pending.entry.bytes.length;
    this.#kick();
    if (this.#pending.length < BATCH_ENTRIES && this.#pendingBytes < BATCH_BYTES) return undefined;
    this.#room ??= Promise.withResolvers();
    return this.#room.promise;
  }

  /** Resolves when all that was pushed is stored, or nothing more can be. */
  async flush(): Promise<void> {
    while (this.#looping !== undefined) await this.#looping;
  }

  /** Pushes an event that is refused where a command waits, and flushes; false where it was refused. */
  async pushUnlessPending(event: StreamResponse): Promise<boolean> {
    this.#refusedPending = false;
    await this.push(event, { unlessPending: true, unbounded: true });
    await this.flush();
    return !this.#refusedPending;
  }

  /** The log may hold commands that the fold has not seen. */
  hint(): void {
    this.#hinted = true;
    this.#kick();
  }

  /** The store has lost the end of the log, or holds another history. */
  heal(): void {
    this.#rewound = true;
    this.#kick();
  }

  /** Stops writing: what is pending is dropped, the batch in flight is not. */
  close(error?: unknown): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#pending = [];
    this.#release();
    if (error !== undefined) this.#init.onClosed(error);
  }

  #enter(state: TaskState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#init.onState();
  }

  #kick(): void {
    this.#looping ??= this.#loop().finally(() => {
      this.#looping = undefined;
      if (this.#due) this.#kick();
    });
  }

  get #due(): boolean {
    return !this.#closed && (this.#rewound || this.#hinted || this.#pending.length > 0);
  }

  async #loop(): Promise<void> {
    try {
      // Not before the caller's own step is over: what an agent yields without waiting for anything goes into one batch.
      for (await stepOver(); this.#due; await stepOver()) {
        if (this.#rewound) await this.#retrying(() => this.#heal());
        else if (this.#hinted) await this.#retrying(() => this.#catchUp());
        else await this.#commit();
      }
    } catch (error) {
      this.close(error);
    }
  }

  /** Folds in what others appended. */
  async #catchUp(): Promise<void> {
    this.#hinted = false;
    const { storage, lease } = this.#init;
    for (;;) {
      const step = await storage.read(lease.taskId, this.#fold.position);
      if (step.is === "gone") return this.#heal();
      if (step.entries.length === 0) return undefined;
      for (const entry of step.entries) {
        this.#add(entry);
        this.#statusTime = Math.max(this.#statusTime, statusTimeOf(this.#fold.task));
        if (!this.#changing) this.#enter(stateOf(this.#fold.task));
        if (entry.kind === "command") this.#init.onCommand({ offset: entry.offset, command: entry.command });
      }
    }
  }

  /** Whether an event on its way changes the state. */
  get #changing(): boolean {
    return [...this.#inFlight, ...this.#pending].some(changesState);
  }

  #add(entry: Entry): void {
    this.#fold.add(entry);
    this.#init.recent.add(entry);
  }

  /** Gives the store back what it has lost: as it was where nothing else stands there, else anew after what does (docs/redis.md). */
  async #heal(): Promise<void> {
    this.#rewound = false;
    const { storage, lease, recent } = this.#init;
    const entries = recent.upTo(this.#fold.position);
    if (entries.length > 0) {
      const cancel = this.#fold.commands.findLast(({ command }) => command.kind.case === "cancel");
      const head = headAfter(this.#fold.task, []);
      const remains = { entries, head, consumed: this.consumed, cancelRequested: cancel?.offset ?? 0 };
      if ((await storage.heal(lease, remains)) === "healed") {
        this.#hinted = true;
        return;
      }
    }
    const { shared, lost } = await lostEntries(storage, lease.taskId, entries);
    const before = this.#fold.commands;
    this.#fold = await this.#init.refold();
    recent.clear();
    // Commands that were lost are nobody's any more; those that stand in their place have not been given to anybody.
    const kept = Math.max(shared, lastShared(before, this.#fold.commands));
    this.consumed = Math.min(this.consumed, kept);
    this.#init.onRewound(kept);
    this.#checkpointer = new Checkpointer(storage, lease, this.#init.onTrouble);
    this.#pending.unshift(...lost.flatMap((entry) => (entry.kind === "command" ? [] : [again(entry)])));
    this.#statusTime = Math.max(this.#statusTime, statusTimeOf(this.#fold.task));
    if (!this.#changing) this.#enter(stateOf(this.#fold.task));
    for (const placed of this.#fold.commands) if (placed.offset > kept) this.#init.onCommand(placed);
  }

  async #commit(): Promise<void> {
    const items = this.#nextBatch();
    if (items.length === 0) return this.#overflow();
    this.#release();
    this.#inFlight = items;
    try {
      await this.#store(items);
    } finally {
      this.#inFlight = [];
    }
  }

  async #store(items: readonly Pending[]): Promise<void> {
    for (;;) {
      try {
        const batch = this.#batch(items);
        const entries = await this.#retrying(() => measuredAppend(this.#init, batch));
        for (const entry of entries) this.#add(entry);
        break;
      } catch (error) {
        if (isRefused(error, "PENDING")) {
          this.#refuse(items);
          return;
        }
        if (!isRefused(error, "STALE")) throw error;
        await this.#retrying(() => this.#catchUp());
      }
    }
    const sealed = isTerminal(stateOf(this.#fold.task));
    await this.#checkpointer.after(this.#fold, this.consumed, sealed);
    if (sealed) this.close();
  }

  /** A command waits: what was not to be stored then is dropped, the rest of its batch comes again. */
  #refuse(items: readonly Pending[]): void {
    this.#refusedPending = true;
    this.#hinted = true;
    const rest = items.filter(({ unlessPending }) => !unlessPending);
    this.#pending.unshift(...rest);
    for (const { entry } of rest) this.#pendingBytes += entry.bytes.length;
    const state = rest.map(({ event }) => event && stateAfter(event)).findLast((after) => after !== undefined);
    this.#enter(state ?? stateOf(this.#fold.task));
  }

  #batch(items: readonly Pending[]): Batch {
    const fold = this.#fold;
    const floor = statusTimeOf(fold.task);
    const entries = items.map(({ event, entry }): NewEntry => {
      const status = event?.payload.case === "statusUpdate" ? event.payload.value.status : undefined;
      if (event === undefined || status?.timestamp === undefined || timestampMs(status.timestamp) >= floor) return entry;
      // Somebody's later status came in between: timestamps of a task never fall.
      status.timestamp = timestampFromMs(Math.max(this.now(), floor));
      return { ...entry, bytes: toBinary(StreamResponseSchema, event) };
    });
    const changes = items.some(changesState);
    const head = changes ? headAfter(fold.task, eventsOf(items)) : undefined;
    const unlessPending = items.some((item) => item.unlessPending);
    return { entries, head, after: fold.position, consumed: this.consumed, unlessPending };
  }

  /** The next events that fit into a batch and into the task's bound; none where the next one does not fit. */
  #nextBatch(): Pending[] {
    let bytes = 0;
    let count = 0;
    for (const { entry, unlessPending } of this.#pending) {
      if (count > 0 && (count === BATCH_ENTRIES || bytes + entry.bytes.length > BATCH_BYTES)) break;
      bytes += entry.bytes.length;
      count += 1;
      // Where it is refused, what comes before it is stored without it.
      if (unlessPending) break;
    }
    const { maxTaskBytes } = this.#init;
    const fold = this.#fold;
    const bounded = this.#pending[0]?.unbounded !== true;
    if (bounded && fold.bytes + bytes > maxTaskBytes && fold.measure() + bytes > maxTaskBytes) {
      while (count > 0 && fold.sizeWith(eventsOf(this.#pending.slice(0, count))) > maxTaskBytes) count = Math.floor(count / 2);
    }
    const batch = this.#pending.splice(0, count);
    for (const { entry } of batch) this.#pendingBytes -= entry.bytes.length;
    return batch;
  }

  #overflow(): void {
    const { maxTaskBytes } = this.#init;
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#enter(stateOf(this.#fold.task));
    this.#release();
    this.#init.onClosed(new TaskError("RESOURCE_EXHAUSTED", `the task would be larger than ${maxTaskBytes} bytes`));
  }

  #release(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }

  /** Repeats a step while the store is away: entries keep their marks, so that a lost reply does no harm. */
  #retrying<T>(step: () => Promise<T>): Promise<T> {
    return untilAnswered(step, () => this.#closed);
  }
}

/** Offset of the last command that two histories share; 0 where they share none. */
function lastShared(one: readonly Placed[], other: readonly Placed[]): number {
  return one.findLast((placed) => other.some((stands) => samePlaced(placed, stands)))?.offset ?? 0;
}

function samePlaced(one: Placed, other: Placed): boolean {
  return one.offset === other.offset && equals(CommandSchema, one.command, other.command);
}

/** Resolves when nothing more happens without waiting for something. */
function stepOver(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
