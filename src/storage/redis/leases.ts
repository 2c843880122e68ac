/** Who runs what: renewals, releases, and what a sweep moves. */
import { RefusedError } from "../../core/errors.ts";
import type { Lease, Renewal, RenewReply } from "../../core/storage.ts";
import type { Arg, Reply } from "./connection/reply.ts";
import type { RedisContext } from "./context.ts";
import type { ShardKeys } from "./keys.ts";
import { accepted, list, position, text } from "./replies.ts";
import { SCRIPTS } from "./scripts.ts";
import type { Takes } from "./takes.ts";

/** Most leases of one renewal, and most ids that are moved by one script. */
const BATCH = 500;

/** Leases in Redis. */
export class Leases {
  readonly #context: RedisContext;
  readonly #takes: Takes;

  constructor(context: RedisContext, takes: Takes) {
    this.#context = context;
    this.#takes = takes;
  }

  /** Renews each lease; one call per shard. Answers in the order given; rejects where every shard is away. */
  async renew(renewals: readonly Renewal[]): Promise<RenewReply[]> {
    const replies = renewals.map((): RenewReply => ({ is: "unknown" }));
    const batches = new Map<ShardKeys, number[][]>();
    for (const [index, { lease }] of renewals.entries()) {
      const keys = this.#context.of(lease.taskId);
      if (keys === undefined) {
        replies[index] = { is: "fenced" };
        continue;
      }
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
          replies[index] = answer === "FENCED" ? { is: "fenced" } : { is: "held", end: position(answer) };
        }
      }),
    );
    const settled = await Promise.allSettled(steps);
    const failed = settled.find((step) => step.status === "rejected");
    if (failed !== undefined && settled.every(({ status }) => status === "rejected")) throw failed.reason;
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
    this.#takes.noteWaiting(keys.shard);
  }

  /** Moves tasks whose lease has expired into `ready`. Answers how many wait now. */
  async expire(keys: ShardKeys, ids: readonly string[]): Promise<number> {
    const { connections } = this.#context;
    const names = [keys.leases, keys.ready, ...ids.map((id) => keys.task(id))];
    const args = [connections.publishCommand, keys.wake, ...ids];
    const waiting = Number(await this.#context.retry(keys.shard, () => connections.write(keys.shard, SCRIPTS.expire, names, args)));
    if (waiting > 0) this.#takes.noteWaiting(keys.shard);
    return waiting;
  }
}
