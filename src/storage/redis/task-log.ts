/** Logs in Redis: what is appended by whom, and what is read. */
import { RefusedError, taskNotFound } from "../../core/errors.ts";
import { newerVersion } from "../../core/format.ts";
import { Entry, type NewEntry, type Position } from "../../core/log-entry.ts";
import type { Batch, Head, Lease, TailStep, TaskMeta } from "../../core/storage.ts";
import type { Arg, Call, Reply } from "./connection/reply.ts";
import type { Visibility } from "./visibility.ts";
import { kindOfState, type RedisContext, type TaskFacts } from "./context.ts";
import { indexRow, type ShardKeys } from "./keys.ts";
import { accepted, kindLetter, list, META_FIELDS, parseMeta, type Recorded, state, streamEntries, text } from "./replies.ts";
import { SCRIPTS } from "./scripts.ts";

/** A page of a read. */
const PAGE_ENTRIES = 500;
const PAGE_BYTES = 1024 * 1024;
/** The first request of a page: most reads want the last few entries. */
const FIRST_ENTRIES = 64;

/** Where a log ends. */
export interface LogEnd {
  readonly position: Position;
  /** Whether the last entry is terminal. */
  readonly sealed: boolean;
}

/** Arguments of entries, as scripts take them. */
export function entryArgs(entries: readonly NewEntry[]): Arg[] {
  return entries.flatMap(({ kind, mark, bytes }) => [kindLetter(kind), mark, bytes]);
}

/** Arguments of a status change: state, kind, time, head, history length, index row. */
export function headArgs(head: Head | undefined, id: string): Arg[] {
  if (head === undefined) return ["", "", "", "", "", ""];
  return [head.state, kindOfState(head.state), head.statusTime, head.task, head.historyLength, indexRow(head.statusTime, id)];
}

/** Reads and appends. */
export class TaskLog {
  readonly #context: RedisContext;
  readonly #visibility: Visibility;
  /** Told of what this replica has appended. */
  onAppended: (taskId: string, before: Position, entries: readonly Entry[], sealed: boolean) => void = () => undefined;

  /** Told of a shard where something became due for a webhook. */
  onDue: (shard: number, taskId: string) => void = () => undefined;

  constructor(context: RedisContext, visibility: Visibility) {
    this.#context = context;
    this.#visibility = visibility;
  }

  /** All entries of a batch, or a refusal. */
  async append(lease: Lease, batch: Batch): Promise<readonly Entry[]> {
    const { taskId } = lease;
    const keys = this.#context.of(taskId);
    const facts = keys && (await this.facts(taskId));
    if (keys === undefined || facts === undefined) throw new RefusedError("FENCED");
    for (;;) {
      const writer = this.#visibility.epoch(keys.shard);
      const reply = await this.#context.retry(keys.shard, () => this.#append(keys, facts, lease, batch));
      const [word, first = "", epoch, time, due] = accepted(reply, taskId);
      if (word === "RETRY") {
        facts.state = state(first);
        continue;
      }
      if (batch.head !== undefined) facts.state = batch.head.state;
      const place = { epoch: Number(epoch), time: Number(time) };
      const entries = batch.entries.map((entry, index) => new Entry({ ...place, offset: Number(first) + index }, entry));
      const last = entries.at(-1);
      if (last !== undefined) {
        await this.#visibility.confirm({ shard: keys.shard, taskId, last, epoch: word === "AGAIN" ? undefined : writer });
      }
      if (due === "1") this.onDue(keys.shard, taskId);
      this.onAppended(taskId, batch.after, entries, kindOfState(facts.state) === "t");
      return entries;
    }
  }

  #append(keys: ShardKeys, facts: TaskFacts, { taskId, epoch, token }: Lease, batch: Batch): Promise<Reply> {
    const { head, after, consumed, unlessPending } = batch;
    const names = [keys.task(taskId), keys.log(taskId), keys.leases, keys.ready, keys.end, keys.due];
    if (head !== undefined) names.push(...this.#context.indexKeys(keys, facts, head.state));
    const retention = head === undefined ? 0 : this.#context.retentionOf(kindOfState(head.state));
    const args: Arg[] = [taskId, epoch, token, after.offset, after.mark, consumed, unlessPending ? 1 : 0];
    args.push(this.#context.publishEvents, keys.events(taskId), ...headArgs(head, taskId), facts.state, retention);
    args.push(...entryArgs(batch.entries));
    return this.#context.connections.write(keys.shard, SCRIPTS.append, names, args);
  }

  /** What is known of a task, asked for where it is not; undefined where there is no such task. */
  async facts(taskId: string): Promise<TaskFacts | undefined> {
    const known = this.#context.known(taskId);
    if (known !== undefined) return known;
    await this.meta(taskId);
    return this.#context.known(taskId);
  }

  /** The record of a task; every entry up to its position is confirmed. */
  async meta(taskId: string): Promise<TaskMeta | undefined> {
    const keys = this.#context.of(taskId);
    if (keys === undefined) return undefined;
    const [recorded] = await this.metas(keys, [taskId]);
    return recorded;
  }

  /** The records of tasks of one shard, in the order of their ids. */
  async metas(keys: ShardKeys, ids: readonly string[]): Promise<(TaskMeta | undefined)[]> {
    const recorded = await this.#recorded(keys, ids);
    const waiting = recorded.filter((one) => one?.confirmed !== undefined && one.confirmed < one.meta.position.offset);
    if (waiting.length === 0) return recorded.map((one) => this.#learned(one?.meta));
    await this.#visibility.settle(
      keys.shard,
      waiting.flatMap((one) => one?.meta.id ?? []),
    );
    // What came after the confirmation is as unconfirmed as before: it is not waited for, only not shown before the next call.
    return (await this.#recorded(keys, ids)).map((one) => this.#learned(one?.meta));
  }

  #learned(meta: TaskMeta | undefined): TaskMeta | undefined {
    if (meta !== undefined) this.#context.learn(meta);
    return meta;
  }

  async #recorded(keys: ShardKeys, ids: readonly string[]): Promise<(Recorded | undefined)[]> {
    const calls = ids.map((id): Call => ["HMGET", keys.task(id), ...META_FIELDS]);
    const replies = await this.#context.retry(keys.shard, () => this.#context.connections.many(keys.shard, calls));
    return replies.map((reply, index) => parseMeta(ids[index] ?? "", reply));
  }

  /** The end of a log as readers may see it; undefined where there is no such task. */
  async end(taskId: string): Promise<LogEnd | undefined> {
    const keys = this.#context.of(taskId);
    if (keys === undefined) return undefined;
    const [end] = await this.ends(keys.shard, [taskId]);
    return end;
  }

  /** The ends of logs of one shard. */
  async ends(shard: number, ids: readonly string[]): Promise<(LogEnd | undefined)[]> {
    const metas = await this.metas(this.#context.keys(shard), ids);
    return metas.map((meta) => meta && { position: meta.position, sealed: kindOfState(meta.state) === "t" });
  }

  /** The next page after a position, as far as this version can read. Throws TASK_NOT_FOUND, and NEWER_VERSION where it cannot go on. */
  async read(taskId: string, after: Position): Promise<TailStep> {
    const keys = this.#context.of(taskId);
    if (keys === undefined) throw taskNotFound(taskId);
    const step = await this.#context.retry(keys.shard, () => this.#read(keys, taskId, after));
    if (step !== "unconfirmed") return step;
    await this.#visibility.settle(keys.shard, [taskId]);
    const settled = await this.#context.retry(keys.shard, () => this.#read(keys, taskId, after));
    return settled === "unconfirmed" ? { is: "entries", entries: [] } : settled;
  }

  async #read(keys: ShardKeys, taskId: string, after: Position): Promise<TailStep | "unconfirmed"> {
    const entries: Entry[] = [];
    let bytes = 0;
    let from = after.offset;
    for (let count = FIRST_ENTRIES; ;) {
      const calls: Call[] = [
        ["HMGET", keys.task(taskId), "fo", "fm", "nx", "cf"],
        // The entry at the position comes along, for its mark.
        ["XRANGE", keys.log(taskId), `${from}-0`, "+", "COUNT", count + 1],
      ];
      const [record, range] = await this.#context.connections.many(keys.shard, calls);
      const [first, firstMark, end, confirmed] = (record as readonly Reply[]).map(text);
      if (first === "") throw taskNotFound(taskId);
      const found = streamEntries(range);
      const newer = found.length < list(range).length;
      if (newer && found.length === 0 && entries.length === 0) throw newerVersion(taskId);
      const at = found[0]?.offset === from ? found.shift() : undefined;
      const mark = at?.mark ?? (from === Number(first) - 1 ? firstMark : undefined);
      // The log may be trimmed between the record and the range, and between two ranges.
      const trimmed = found[0] !== undefined && found[0].offset !== from + 1;
      const last = entries.at(-1);
      if (trimmed || mark !== (last ?? after).mark) return last === undefined ? { is: "gone" } : { is: "entries", entries };
      const visible = confirmed === "" ? Infinity : Number(confirmed);
      for (const entry of found) {
        if (entry.offset > visible) break;
        entries.push(entry);
        bytes += entry.bytes.length;
      }
      if (entries.length === 0 && newer) throw newerVersion(taskId);
      if (entries.length === 0 && Number(end) > visible) return "unconfirmed";
      const full =
        newer || found.length < count || bytes >= PAGE_BYTES || entries.length >= PAGE_ENTRIES || (found.at(-1)?.offset ?? 0) > visible;
      if (full) return { is: "entries", entries };
      const average = Math.max(1, bytes / entries.length);
      count = Math.max(1, Math.min(PAGE_ENTRIES - entries.length, Math.floor((PAGE_BYTES - bytes) / average)));
      from = entries.at(-1)?.offset ?? from;
    }
  }
}
