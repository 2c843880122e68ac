/** Deliveries in Redis: cursors beside the push configs, tasks with something to deliver by the time when it is due. */
import type { Deliveries, Delivery, DeliveryClaim, DeliveryReport, DeliveryState, LetGo, ReportReply } from "../../core/deliveries.ts";
import { byId } from "../../core/push-configs.ts";
import type { Arg, Call } from "./connection/reply.ts";
import type { RedisContext } from "./context.ts";
import type { ShardKeys } from "./keys.ts";
import { LeftToNewer } from "./left-to-newer.ts";
import { bytes, list, position, text } from "./replies.ts";
import { SCRIPTS } from "./scripts.ts";

/** Most claims that one script prolongs. */
const BATCH = 500;

const STATES: Readonly<Record<string, DeliveryState>> = { a: "active", d: "done", p: "parked" };
/** Most characters of a cause. */
const MAX_CAUSE = 500;

/** The part of the store that leads deliveries. */
export class RedisDeliveries implements Deliveries {
  readonly #context: RedisContext;
  /** Shards in which something may be due, only they are asked; the number grows whenever it is said again. */
  readonly #due = new Map<number, number>();
  readonly #newer: LeftToNewer;
  /** Called when something became due by a step of this replica. */
  onDue: (taskId: string) => void = () => undefined;

  constructor(context: RedisContext) {
    this.#context = context;
    this.#newer = new LeftToNewer("webhooks wait", context.warn);
    for (const { shard } of context.shards) this.noteDue(shard);
  }

  /** Something may be due in this shard. */
  noteDue(shard: number): void {
    this.#due.set(shard, (this.#due.get(shard) ?? 0) + 1);
  }

  /** What a script says at the end of its reply: whether its step has made something due. */
  heard(shard: number, taskId: string, due: string | undefined): void {
    if (due !== "1") return;
    this.noteDue(shard);
    this.onDue(taskId);
  }

  async claimDeliveries(token: string, limit: number): Promise<readonly DeliveryClaim[]> {
    const claims: DeliveryClaim[] = [];
    const failures: unknown[] = [];
    for (const [shard, said] of this.#due) {
      if (claims.length >= limit) break;
      try {
        const ids = await this.#claim(shard, said, token, limit - claims.length);
        claims.push(...ids.map((taskId) => ({ taskId, token })));
      } catch (error) {
        failures.push(error);
      }
    }
    if (claims.length === 0 && failures.length > 0) throw failures[0];
    return claims;
  }

  async #claim(shard: number, said: number, token: string, limit: number): Promise<string[]> {
    const keys = this.#context.keys(shard);
    const { connections, options } = this.#context;
    const claimed: string[] = [];
    while (claimed.length < limit) {
      const asked = limit - claimed.length + this.#newer.count(shard);
      const found = list(await this.#context.retry(shard, () => connections.call(shard, "ZRANGE", keys.due, 0, asked - 1)));
      const ids = this.#newer.without(shard, found.map(text), found.length < asked).slice(0, limit - claimed.length);
      if (ids.length === 0) break;
      const names = [keys.due, ...ids.map((id) => keys.task(id))];
      const reply = await this.#context.retry(shard, () =>
        connections.write(shard, SCRIPTS.claim, names, [token, options.leaseMs, ...ids]),
      );
      const [got, left] = list(reply).map((some) => list(some).map(text)) as [string[], string[]];
      this.#newer.note(shard, left);
      claimed.push(...got);
      // The oldest are not due yet, or another replica has them.
      if (got.length + left.length < ids.length) break;
    }
    if (claimed.length < limit && this.#due.get(shard) === said) this.#due.delete(shard);
    return claimed;
  }

  async deliveriesOf(taskId: string): Promise<readonly Delivery[]> {
    const keys = this.#context.of(taskId);
    if (keys === undefined) return [];
    const calls: Call[] = [["HGETALL", keys.pushConfigs(taskId)], ["HGETALL", keys.progress(taskId)], ["TIME"]];
    const [configs, progress, time] = await this.#context.retry(keys.shard, () => this.#context.connections.many(keys.shard, calls));
    const [seconds, micros] = list(time).map(Number);
    const now = (seconds ?? 0) * 1000 + Math.floor((micros ?? 0) / 1000);
    const known = new Map(pairs(list(progress)).map(([id, written]) => [text(id), text(written)]));
    return pairs(list(configs))
      .flatMap(([id, stored]) => {
        const written = known.get(text(id));
        return written === undefined ? [] : [parsed({ id: text(id), bytes: bytes(stored) }, written, now)];
      })
      .toSorted((a, b) => byId(a.config, b.config));
  }

  async holdDeliveries(claims: readonly DeliveryClaim[]): Promise<readonly (boolean | undefined)[]> {
    const held: (boolean | undefined)[] = claims.map(() => false);
    const indexed = claims.map((claim, index) => ({ ...claim, index, keys: this.#context.of(claim.taskId) }));
    const byShard = Map.groupBy(indexed, ({ keys }) => keys);
    const steps = [...byShard].flatMap(([keys, ones]) =>
      keys === undefined ? [] : batches(ones).map((batch) => this.#hold(keys, batch, held)),
    );
    await Promise.all(steps);
    return held;
  }

  async #hold(keys: ShardKeys, batch: readonly (DeliveryClaim & { index: number })[], held: (boolean | undefined)[]): Promise<void> {
    const { connections, options } = this.#context;
    const names = [keys.due, ...batch.map(({ taskId }) => keys.task(taskId))];
    const args: Arg[] = [options.leaseMs, ...batch.flatMap(({ taskId, token }) => [taskId, token])];
    try {
      const reply = list(await this.#context.retry(keys.shard, () => connections.write(keys.shard, SCRIPTS.hold, names, args)));
      for (const [at, { index }] of batch.entries()) held[index] = Number(reply[at]) === 1;
    } catch {
      for (const { index } of batch) held[index] = undefined;
    }
  }

  async reportDelivery({ taskId, token }: DeliveryClaim, report: DeliveryReport): Promise<ReportReply> {
    const keys = this.#context.of(taskId);
    if (keys === undefined) return "gone";
    const { configId, is, acknowledged, failures, retryInMs, cause } = report;
    const names = [keys.task(taskId), keys.pushConfigs(taskId), keys.progress(taskId)];
    const args: Arg[] = [token, configId, is.slice(0, 1), acknowledged.offset, acknowledged.mark, failures, Math.ceil(retryInMs)];
    args.push(cause.slice(0, MAX_CAUSE));
    const { connections } = this.#context;
    const word = text(await this.#context.retry(keys.shard, () => connections.write(keys.shard, SCRIPTS.report, names, args)));
    return word === "OK" ? "recorded" : word === "GONE" ? "gone" : "lost";
  }

  async letGo({ taskId, token }: DeliveryClaim, { webhooks, seen, againInMs }: LetGo): Promise<boolean> {
    const keys = this.#context.of(taskId);
    if (keys === undefined) return true;
    const { connections } = this.#context;
    const [most, last] = [webhooks, seen].map((count) => Math.min(count, Number.MAX_SAFE_INTEGER)) as [number, number];
    const args: Arg[] = [taskId, token, last, againInMs === undefined ? "" : Math.ceil(againInMs), most];
    const names = [keys.task(taskId), keys.due];
    const word = text(await this.#context.retry(keys.shard, () => connections.write(keys.shard, SCRIPTS["let-go"], names, args)));
    if (word === "OK" && againInMs !== undefined) this.noteDue(keys.shard);
    return word === "OK";
  }
}

function pairs<T>(fields: readonly T[]): [T, T][] {
  return Array.from({ length: fields.length / 2 }, (_, at) => [fields[2 * at] as T, fields[2 * at + 1] as T]);
}

function batches<T>(all: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(all.length / BATCH) }, (_, at) => all.slice(at * BATCH, (at + 1) * BATCH));
}

/** Reads `state offset.mark failures notBefore cause`, as the scripts write it. */
function parsed(config: Delivery["config"], written: string, now: number): Delivery {
  const [state = "", cursor = "", failures, notBefore, ...cause] = written.split(" ");
  return {
    config,
    is: STATES[state] ?? "parked",
    acknowledged: position(cursor),
    failures: Number(failures),
    waitMs: Math.max(0, Number(notBefore) - now),
    cause: cause.join(" "),
  };
}
