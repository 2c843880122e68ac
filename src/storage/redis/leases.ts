/** Who runs what: renewals, releases, what waits, and what a sweep moves. */
import { RefusedError } from "../../core/errors.ts";
import type { Lease, LeaseRequest, Renewal, RenewReply, Taken } from "../../core/storage.ts";
import type { Arg, Reply } from "./connection/reply.ts";
import type { RedisContext } from "./context.ts";
import type { ShardKeys } from "./keys.ts";
import { accepted, list, position, text } from "./replies.ts";
import { SCRIPTS } from "./scripts.ts";
import type { TaskLog } from "./task-log.ts";

/** Most leases of one renewal, and most ids that are moved by one script. */
const BATCH = 500;

/** Takes that failed and were not repeated are remembered, so many of them. */
const MAX_UNANSWERED = 100;

/** Leases in Redis. */
export class Leases {
  readonly #context: RedisContext;
  readonly #log: TaskLog;
  /** Shards in which something may wait, only they are asked; the number grows whenever it is said again. */
  readonly #waiting = new Map<number, number>();

  /** Where the takes that failed may have been given something, by their tokens. */
  readonly #unanswered = new Map<string, ReadonlySet<number>>();

  constructor(context: RedisContext, log: TaskLog) {
    this.#context = context;
    this.#log = log;
    for (const { shard } of context.shards) this.noteWaiting(shard);
  }

  /** Something waits in this shard. */
  noteWaiting(shard: number): void {
    this.#waiting.set(shard, (this.#waiting.get(shard) ?? 0) + 1);
  }

  /** Renews each lease; one call per shard. Answers in the order given. */
  async renew(renewals: readonly Renewal[]): Promise<RenewReply[]> {
    const replies = renewals.map((): RenewReply => ({ is: "fenced" }));
    const batches = new Map<ShardKeys, number[][]>();
    for (const [index, { lease }] of renewals.entries()) {
      const keys = this.#context.of(lease.taskId);
      if (keys === undefined) continue;
      const lists = batches.get(keys) ?? [];
      if (lists.length === 0) batches.set(keys, lists);
      if ((lists.at(-1)?.length ?? BATCH) >= BATCH) lists.push([]);
      lists.at(-1)?.push(index);
    }
    const steps = [...batches].flatMap(([keys, lists]) =>
      lists.map(async (indexes) => {
        const answers = await this.#renew(
          keys,
          indexes.flatMap((index) => renewals[index] ?? []),
        );
        for (const [at, index] of indexes.entries()) {
          const answer = text(answers[at]);
          if (answer !== "FENCED") replies[index] = { is: "held", end: position(answer) };
        }
      }),
    );
    await Promise.all(steps);
    return replies;
  }

  async #renew(keys: ShardKeys, renewals: readonly Renewal[]): Promise<readonly Reply[]> {
    const names = [keys.leases, ...renewals.map(({ lease }) => keys.task(lease.taskId))];
    const args: Arg[] = [this.#context.options.leaseMs];
    for (const { lease, consumed } of renewals) args.push(lease.taskId, lease.epoch, lease.token, consumed);
    const { connections } = this.#context;
    return list(await this.#context.retry(keys.shard, () => connections.write(keys.shard, SCRIPTS.renew, names, args)));
  }

  /** Gives a lease back. */
  async release({ taskId, epoch, token }: Lease, to: "rest" | "ready", consumed: number): Promise<void> {
    const keys = this.#context.of(taskId);
    if (keys === undefined) throw new RefusedError("FENCED");
    const { connections } = this.#context;
    const args = [taskId, epoch, token, to, consumed, connections.publishCommand, keys.wake];
    const names = [keys.task(taskId), keys.leases, keys.ready];
    accepted(await this.#context.retry(keys.shard, () => connections.write(keys.shard, SCRIPTS.release, names, args)), taskId);
    this.noteWaiting(keys.shard);
  }

  /** Acquires waiting tasks, oldest first over all shards. */
  async take(request: LeaseRequest, limit: number): Promise<Taken[]> {
    const asked = [...this.#waiting.keys(), ...(this.#unanswered.get(request.token) ?? [])];
    try {
      const taken = await this.#takeFrom(request, limit);
      this.#unanswered.delete(request.token);
      return taken;
    } catch (error) {
      // What the lost reply gave is found again in the same shards, even where nothing else waits any more.
      this.#unanswered.set(request.token, new Set(asked));
      if (this.#unanswered.size > MAX_UNANSWERED) this.#unanswered.delete([...this.#unanswered.keys()][0] ?? "");
      for (const shard of asked) this.noteWaiting(shard);
      throw error;
    }
  }

  async #takeFrom(request: LeaseRequest, limit: number): Promise<Taken[]> {
    const given = await this.#given(request);
    if (given.length > 0) return given;
    const taken: Taken[] = [];
    for (;;) {
      const wanted = limit - taken.length;
      const found = await Promise.all([...this.#waiting].map(([shard, said]) => this.#find(shard, said, wanted)));
      const oldest = found
        .flat()
        .toSorted((a, b) => a.since - b.since)
        .slice(0, wanted);
      const byShard = Map.groupBy(oldest, ({ shard }) => shard);
      const steps = [...byShard].map(([shard, ones]) =>
        this.#take(
          shard,
          request,
          ones.map(({ id }) => id),
          "more",
        ),
      );
      const got = (await Promise.all(steps)).flat();
      taken.push(...got);
      // Another replica was quicker: look for what it has left.
      if (taken.length >= limit || got.length === oldest.length) return taken;
    }
  }

  /** What this token was given before. */
  async #given(request: LeaseRequest): Promise<Taken[]> {
    const shards = new Set([...this.#waiting.keys(), ...(this.#unanswered.get(request.token) ?? [])]);
    const taken = [...shards].map(async (shard) => {
      const { connections } = this.#context;
      const given = await this.#context.retry(shard, () => connections.call(shard, "GET", this.#context.keys(shard).taken(request.token)));
      return given === null ? [] : this.#take(shard, request, text(given).split(" "), "again");
    });
    return (await Promise.all(taken)).flat();
  }

  async #find(shard: number, said: number, limit: number): Promise<{ shard: number; id: string; since: number }[]> {
    const { ready } = this.#context.keys(shard);
    const reply = await this.#context.retry(shard, () =>
      this.#context.connections.call(shard, "ZRANGE", ready, 0, limit - 1, "WITHSCORES"),
    );
    const fields = list(reply).map(text);
    if (fields.length === 0 && this.#waiting.get(shard) === said) this.#waiting.delete(shard);
    return Array.from({ length: fields.length / 2 }, (_, at) => ({ shard, id: fields[2 * at] ?? "", since: Number(fields[2 * at + 1]) }));
  }

  async #take(shard: number, { token, replica }: LeaseRequest, ids: readonly string[], how: "more" | "again"): Promise<Taken[]> {
    const keys = this.#context.keys(shard);
    const names = [keys.ready, keys.leases, keys.taken(token), ...ids.map((id) => keys.task(id))];
    const args = [token, replica, this.#context.options.leaseMs, how, ...ids];
    const { connections } = this.#context;
    const taken = list(await this.#context.retry(shard, () => connections.write(shard, SCRIPTS.take, names, args))).map(text);
    const metas = await this.#log.metas(keys, taken);
    return metas.flatMap((meta) => (meta === undefined ? [] : [{ lease: { taskId: meta.id, epoch: meta.epoch, token }, meta }]));
  }

  /** Moves tasks whose lease has expired into `ready`. Answers how many wait now. */
  async expire(keys: ShardKeys, ids: readonly string[]): Promise<number> {
    const { connections } = this.#context;
    const names = [keys.leases, keys.ready, ...ids.map((id) => keys.task(id))];
    const args = [connections.publishCommand, keys.wake, ...ids];
    const waiting = Number(await this.#context.retry(keys.shard, () => connections.write(keys.shard, SCRIPTS.expire, names, args)));
    if (waiting > 0) this.noteWaiting(keys.shard);
    return waiting;
  }
}
