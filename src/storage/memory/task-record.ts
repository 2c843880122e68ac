/** One task in memory: its log, its lease, its readers. */
import { WRITES } from "../../core/format.ts";
import { Entry, type NewEntry, type Position, START } from "../../core/log-entry.ts";
import type { Head, Lease, Repeat, StoredCheckpoint, TailStep, TaskMeta } from "../../core/storage.ts";
import { byId, type PushConfigRequest, type StoredPushConfig, tooManyPushConfigs } from "../../core/push-configs.ts";
import { type Scope, scopeKey } from "../../core/scope.ts";
import { isInterrupted, isTerminal } from "../../core/task.ts";
import type { IndexRow } from "./task-index.ts";

/** Entries and bytes of one page of a read. A reader holds one page; what it has not asked for stays in the log. */
const PAGE_ENTRIES = 64;
const PAGE_BYTES = 128 * 1024;

/** What an entry costs in memory besides its bytes, and a task with its head besides its log, roughly. */
const ENTRY_OVERHEAD = 200;
const TASK_OVERHEAD = 2048;
const PUSH_OVERHEAD = 300;

/** What a command was answered with. */
interface CommandAnswer {
  readonly offset: number;
  readonly lease: Lease | undefined;
  readonly owned: boolean;
}

/** Commands whose answer is kept. */
const REMEMBERED_COMMANDS = 64;

/** A lease as stored. */
export interface StoredLease {
  readonly epoch: number;
  readonly token: string;
  readonly replica: string;
  expires: number;
}

/** Where and when a batch was put. */
export interface Place {
  readonly offset: number;
  readonly epoch: number;
  readonly time: number;
}

/** The entries of a batch at their place: the answer to its writer, the first time and every other. */
export function placed(entries: readonly NewEntry[], { offset, epoch, time }: Place): Entry[] {
  return entries.map((entry, index) => new Entry({ offset: offset + index, epoch, time }, entry));
}

/** The record of a task. Its fields change together, within one synchronous step of the store. */
export class TaskRecord {
  readonly id: string;
  readonly scope: Scope;
  readonly scopeKey: string;
  readonly contextId: string;
  head: Head;
  entries: Entry[] = [];
  checkpoint: StoredCheckpoint | undefined;
  epoch = 0;
  lease: StoredLease | undefined;
  generation = 0;
  consumed = 0;
  lastCommand = 0;
  cancelRequested = 0;
  attempts = 0;
  /** Whether the turn that was given the command at `consumed` has not come to rest since. */
  begun = false;
  /** Where the first entries were put: how a repeated create is answered. */
  created: Place | undefined;
  /** The first mark of the owner's last batch and where it was put: how a repeated append is known and answered. */
  lastBatch: { readonly mark: string; readonly place: Place } | undefined;
  /** Dedupe rows that live as long as the task. */
  readonly repeatKeys: string[] = [];
  readonly readers = new Set<() => void>();
  /** Configurations of webhooks by id. Few tasks have any. */
  #push: Map<string, Uint8Array> | undefined;
  /** Answers to commands by mark: how a repeated command is known. Few tasks get any. */
  #answers: Map<string, CommandAnswer> | undefined;
  #trimmed: Position = START;
  #next = 1;
  #waking = false;
  #bytes = TASK_OVERHEAD;

  constructor(id: string, scope: Scope, contextId: string, head: Head) {
    this.id = id;
    this.scope = scope;
    this.scopeKey = scopeKey(scope);
    this.contextId = contextId;
    this.head = head;
  }

  get position(): Position {
    return this.entries.at(-1) ?? this.#trimmed;
  }

  get firstOffset(): number {
    return this.#trimmed.offset + 1;
  }

  /** Bytes that this task takes, roughly. */
  get bytes(): number {
    return this.#bytes + (this.checkpoint?.bytes.length ?? 0);
  }

  get terminal(): boolean {
    return isTerminal(this.head.state);
  }

  get interrupted(): boolean {
    return isInterrupted(this.head.state);
  }

  /** The task as lists know it. */
  get row(): IndexRow {
    const { statusTime, state } = this.head;
    return { statusTime, state, id: this.id, contextId: this.contextId };
  }

  meta(): TaskMeta {
    const { offset, mark } = this.position;
    return {
      id: this.id,
      scope: this.scope,
      contextId: this.contextId,
      state: this.head.state,
      statusTime: this.head.statusTime,
      position: { offset, mark },
      generation: this.generation,
      epoch: this.epoch,
      leased: this.lease !== undefined,
      consumed: this.consumed,
      lastCommand: this.lastCommand,
      cancelRequested: this.cancelRequested,
      attempts: this.attempts,
      begun: this.begun,
      firstOffset: this.firstOffset,
      format: WRITES,
    };
  }

  /** Appends entries at the next offsets under the current epoch. */
  push(entries: readonly NewEntry[], time: number): Entry[] {
    const pushed = placed(entries, { offset: this.#next, epoch: this.epoch, time });
    this.#next += pushed.length;
    for (const entry of pushed) {
      this.entries.push(entry);
      this.#bytes += entry.bytes.length + ENTRY_OVERHEAD;
      if (entry.kind === "event") this.generation += 1;
      else if (entry.kind === "command") this.lastCommand = entry.offset;
    }
    return pushed;
  }

  /** Advances `consumed`; a command that was given starts the count of attempts again, at its owner's own. */
  consume(consumed: number): void {
    if (consumed <= this.consumed) return;
    this.consumed = consumed;
    this.begun = true;
    this.attempts = 1;
  }

  /** What was tried is over: the next command begins anew. */
  rest(): void {
    this.begun = false;
    this.attempts = 0;
  }

  /** The configurations of webhooks, by id. */
  get pushConfigs(): readonly StoredPushConfig[] {
    return [...(this.#push ?? [])].map(([id, bytes]) => ({ id, bytes })).toSorted(byId);
  }

  pushConfig(id: string): StoredPushConfig | undefined {
    const bytes = this.#push?.get(id);
    return bytes && { id, bytes };
  }

  /** Throws where one more is too many. */
  checkPushConfig({ id, most }: PushConfigRequest): void {
    if (this.#push?.has(id) !== true && (this.#push?.size ?? 0) >= most) throw tooManyPushConfigs();
  }

  setPushConfig({ id, bytes }: StoredPushConfig): void {
    this.deletePushConfig(id);
    this.#push ??= new Map();
    this.#push.set(id, bytes);
    this.#bytes += bytes.length + PUSH_OVERHEAD;
  }

  deletePushConfig(id: string): void {
    const known = this.#push?.get(id);
    if (known === undefined) return;
    this.#push?.delete(id);
    this.#bytes -= known.length + PUSH_OVERHEAD;
  }

  /** Keeps the answer to a command for its repeated attempt; of many, the latest: an attempt is repeated at once. */
  remember(mark: string, answer: CommandAnswer): void {
    this.#answers ??= new Map();
    this.#answers.set(mark, answer);
    const [oldest = ""] = this.#answers.keys();
    if (this.#answers.size > REMEMBERED_COMMANDS) this.#answers.delete(oldest);
  }

  /** The answer to the first attempt of a command. */
  answerTo(mark: string): CommandAnswer | undefined {
    return this.#answers?.get(mark);
  }

  /** The next page after a position. */
  page(after: Position): TailStep {
    const index = this.#indexAfter(after);
    if (index === undefined) return { is: "gone" };
    const page: Entry[] = [];
    let bytes = 0;
    for (let at = index; at < this.entries.length && page.length < PAGE_ENTRIES; at += 1) {
      const entry = this.entries[at] as Entry;
      if (page.length > 0 && bytes + entry.bytes.length > PAGE_BYTES) break;
      page.push(entry);
      bytes += entry.bytes.length;
    }
    return { is: "entries", entries: page };
  }

  /** Index of the entry after a position; undefined where the position is no longer kept or names another history. */
  #indexAfter({ offset, mark }: Position): number | undefined {
    const first = this.firstOffset;
    if (offset === first - 1) return mark === this.#trimmed.mark ? 0 : undefined;
    const at = this.entries[offset - first];
    return at?.mark === mark ? offset - first + 1 : undefined;
  }

  /** Drops entries that the checkpoint covers and neither the resume window nor a webhook, from `needed` on, needs. */
  trim(windowEntries: number, windowBytes: number, needed: number): void {
    const covered = Math.min(this.checkpoint?.position.offset ?? 0, needed);
    let keep = this.entries.length;
    let bytes = 0;
    while (keep > 0) {
      const entry = this.entries[keep - 1] as Entry;
      bytes += entry.bytes.length;
      const outside = this.entries.length - keep >= windowEntries || bytes > windowBytes;
      if (outside && entry.offset < covered) break;
      keep -= 1;
    }
    for (const entry of this.entries.splice(0, keep)) {
      this.#bytes -= entry.bytes.length + ENTRY_OVERHEAD;
      this.#trimmed = { offset: entry.offset, mark: entry.mark };
    }
  }

  /**
   * Wakes every reader that waits for more, once the step that appends is over: what an agent yields without a pause is read in one go, and
   * hundreds of readers cost one wake-up each instead of one per entry.
   */
  publish(): void {
    if (this.#waking || this.readers.size === 0) return;
    this.#waking = true;
    process.nextTick(() => {
      this.#waking = false;
      const waiting = [...this.readers];
      this.readers.clear();
      for (const wake of waiting) wake();
    });
  }

  /** The first send behind a dedupe row. */
  repeat(offset: number): Repeat {
    return { taskId: this.id, offset };
  }
}
