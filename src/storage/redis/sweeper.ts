/** What leaves: expired leases into `ready`, finished tasks out of the store, abandoned ones by name. */
import type { Swept } from "../../core/storage.ts";
import { isAway } from "../../core/errors.ts";
import { READS } from "../../core/format.ts";
import { parsePointer, partKeys } from "./checkpoints.ts";
import type { Call } from "./connection/reply.ts";
import type { RedisContext } from "./context.ts";
import type { ShardKeys } from "./keys.ts";
import type { Leases } from "./leases.ts";
import type { RedisDeliveries } from "./redis-deliveries.ts";
import { list, text } from "./replies.ts";
import { SCRIPTS } from "./scripts.ts";
import type { Takes } from "./takes.ts";
import type { TaskLog } from "./task-log.ts";

/** Most ids of one kind that one sweep of one shard looks at. */
const LIMIT = 200;

/** When a task at rest that somebody owns is looked at again. */
const LATER_MS = 60_000;

/** What a sweep moves, or tells. */
interface SweeperParts {
  readonly leases: Leases;
  readonly takes: Takes;
  readonly log: TaskLog;
  readonly deliveries: RedisDeliveries;
}

/** Sweeps every shard. */
export class Sweeper {
  readonly #context: RedisContext;
  readonly #leases: Leases;
  readonly #takes: Takes;
  readonly #deliveries: RedisDeliveries;
  readonly #log: TaskLog;

  constructor(context: RedisContext, { leases, takes, log, deliveries }: SweeperParts) {
    this.#context = context;
    this.#leases = leases;
    this.#takes = takes;
    this.#deliveries = deliveries;
    this.#log = log;
  }

  /** One round. Shards that are away are left out; rejects where all of them are. */
  async sweep(): Promise<Swept> {
    const swept = await Promise.allSettled(this.#context.shards.map((keys) => this.#shard(keys)));
    let [expired, removed, waiting, overdue] = [0, 0, 0, 0];
    const abandoned: string[] = [];
    for (const one of swept) {
      if (one.status === "rejected") {
        if (!isAway(one.reason) || swept.every(({ status }) => status === "rejected")) throw one.reason;
        continue;
      }
      expired += one.value.expired;
      removed += one.value.removed;
      waiting += one.value.backlog.waiting;
      overdue += one.value.backlog.due;
      abandoned.push(...one.value.abandoned);
    }
    return { expired, removed, abandoned, backlog: { waiting, due: overdue } };
  }

  async #shard(keys: ShardKeys): Promise<Swept> {
    const { connections, options } = this.#context;
    const due = await this.#context.retry(keys.shard, () =>
      connections.script(keys.shard, SCRIPTS.due, [keys.leases, keys.end, keys.ready, keys.due], [LIMIT]),
    );
    const [time, leased, resting, waiting, deliveries] = list(due);
    if (Number(waiting) > 0) this.#takes.noteWaiting(keys.shard);
    if (Number(deliveries) > 0) this.#deliveries.noteDue(keys.shard);
    // After Redis was away owners get a lease's time to renew, before anybody takes their tasks.
    const since = connections.upSince(keys.shard);
    const settled = since !== undefined && performance.now() - since >= options.leaseMs;
    const late = settled ? list(leased).map(text) : [];
    const expired = late.length > 0 ? await this.#leases.expire(keys, late) : 0;
    const backlog = { waiting: Number(waiting), due: Number(deliveries) };
    return { expired, backlog, ...(await this.#rest(keys, list(resting).map(text), Number(text(time)))) };
  }

  /** Tasks at rest whose time is over: finished ones go, interrupted ones without a living owner are named. */
  async #rest(keys: ShardKeys, ids: readonly string[], now: number): Promise<{ removed: number; abandoned: string[] }> {
    if (ids.length === 0) return { removed: 0, abandoned: [] };
    const calls = ids.flatMap((id): Call[] => [
      ["HMGET", keys.task(id), "kd", "cp", "dk", "fv"],
      ["ZSCORE", keys.leases, id],
    ]);
    const replies = await this.#context.retry(keys.shard, () => this.#context.connections.many(keys.shard, calls));
    let removed = 0;
    const abandoned: string[] = [];
    const later: string[] = [];
    for (const [at, id] of ids.entries()) {
      const [kind = "", pointer = "", row = "", format] = list(replies[2 * at]).map(text);
      const expires = replies[2 * at + 1];
      // What there is to remove only a newer version knows.
      if (Number(format) > READS) later.push(id);
      else if (kind !== "i") removed += await this.#remove(keys, id, pointer, row);
      else if (expires === null || Number(text(expires)) <= now) abandoned.push(id);
      else later.push(id);
    }
    if (later.length > 0) await this.#later(keys, later, now);
    return { removed, abandoned };
  }

  /** Interrupted tasks whose turns are alive, and tasks of a newer version, are looked at again later: many of them must not stand before those that can go. */
  async #later(keys: ShardKeys, ids: readonly string[], now: number): Promise<void> {
    const { connections } = this.#context;
    const rows = ids.flatMap((id) => [now + LATER_MS, id]);
    // GT: one that has ended meanwhile keeps its whole time.
    await this.#context.retry(keys.shard, () => connections.call(keys.shard, "ZADD", keys.end, "XX", "GT", ...rows));
  }

  async #remove(keys: ShardKeys, id: string, pointer: string, row: string): Promise<number> {
    const { connections } = this.#context;
    const [meta, members] = await Promise.all([
      this.#log.meta(id),
      this.#context.retry(keys.shard, () => connections.call(keys.shard, "SMEMBERS", keys.followUps(id))),
    ]);
    const followUps = list(members).map(text);
    const names = [keys.task(id), keys.log(id), keys.leases, keys.ready, keys.end];
    for (const state of [undefined, meta?.state ?? 0]) {
      for (const contextId of [undefined, meta?.contextId ?? ""]) {
        names.push(keys.index(meta?.scope ?? { tenant: "", owner: "" }, { contextId, state }));
      }
    }
    const parts = partKeys(keys, id, parsePointer(pointer));
    const repeats = [...(row === "" ? [] : [row]), ...followUps].map((key) => keys.repeat(key));
    names.push(keys.followUps(id), keys.pushConfigs(id), keys.progress(id), keys.due, ...parts, ...repeats);
    const args = [id, pointer, row, parts.length, followUps.length];
    const removed = Number(await this.#context.retry(keys.shard, () => connections.write(keys.shard, SCRIPTS.remove, names, args)));
    if (removed > 0) this.#context.forget(id);
    return removed;
  }
}
