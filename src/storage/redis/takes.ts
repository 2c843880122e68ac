/** What waits, and who takes it: over all shards, of which some may be away. */
import type { LeaseRequest, Taken } from "../../core/storage.ts";
import type { RedisContext } from "./context.ts";
import { LeftToNewer } from "./left-to-newer.ts";
import { list, text } from "./replies.ts";
import { SCRIPTS } from "./scripts.ts";
import type { TaskLog } from "./task-log.ts";

/** Takes whose replies were lost are remembered, so many of them; what they were given is lost with their leases otherwise. */
const MAX_UNANSWERED = 100;

/** A task that waits. */
interface Waiting {
  readonly shard: number;
  readonly id: string;
  readonly since: number;
}

/** A take of which some shards have not answered. */
interface Unanswered {
  readonly request: LeaseRequest;
  readonly shards: Set<number>;
  /** Whether it was answered all the same: it will not be repeated, and another one has to learn of the rest. */
  over: boolean;
}

/** One take on its way. */
interface Take {
  readonly request: LeaseRequest;
  readonly taken: Taken[];
  readonly failures: unknown[];
}

/** The way out of `ready`. */
export class Takes {
  readonly #context: RedisContext;
  readonly #log: TaskLog;
  /** Shards in which something may wait, only they are asked; the number grows whenever it is said again. */
  readonly #waiting = new Map<number, number>();
  /** In which shards a take may have been given something that it was not told of, by its token. */
  readonly #unanswered = new Map<string, Unanswered>();
  readonly #newer: LeftToNewer;

  constructor(context: RedisContext, log: TaskLog) {
    this.#context = context;
    this.#log = log;
    this.#newer = new LeftToNewer("tasks wait", context.warn);
    for (const { shard } of context.shards) this.noteWaiting(shard);
  }

  /** Something waits in this shard. */
  noteWaiting(shard: number): void {
    this.#waiting.set(shard, (this.#waiting.get(shard) ?? 0) + 1);
  }

  /**
   * Acquires waiting tasks, oldest first over all shards, and those that an earlier take was given without hearing of it. A shard that fails is
   * left out; rejects where nothing else is to be had.
   */
  async take(request: LeaseRequest, limit: number): Promise<Taken[]> {
    const take: Take = { request, taken: [], failures: [] };
    await this.#recall(take);
    // What was given before is the answer, the first time and every other. What earlier ones were given may be more than is asked for.
    let full = take.taken.length >= limit || take.taken.some(({ lease }) => lease.token === request.token);
    while (!full) {
      const wanted = limit - take.taken.length;
      // A shard that has not said what this request holds there gives it no more: it would tell of both together.
      const shards = [...this.#waiting].filter(([shard]) => this.#unanswered.get(request.token)?.shards.has(shard) !== true);
      const found = await Promise.all(shards.map(([shard, said]) => this.#left(take, shard, [], () => this.#find(shard, said, wanted))));
      const oldest = found
        .flat()
        .toSorted((a, b) => a.since - b.since)
        .slice(0, Math.max(0, wanted));
      const before = take.taken.length;
      const byShard = [...Map.groupBy(oldest, ({ shard }) => shard)];
      await Promise.all(byShard.map(([shard, ones]) => this.#takeFrom(take, shard, ones)));
      const got = take.taken.length - before;
      // Another replica was quicker: look for what it has left. A shard that failed is not asked again now.
      full = take.failures.length > 0 || take.taken.length >= limit || got === oldest.length;
    }
    if (take.taken.length === 0 && take.failures.length > 0) throw take.failures[0];
    const unanswered = this.#unanswered.get(request.token);
    if (unanswered !== undefined) unanswered.over = true;
    return take.taken;
  }

  /** What this request was given before, and what earlier ones were given without hearing of it. */
  async #recall(take: Take): Promise<void> {
    const own = this.#unanswered.get(take.request.token);
    const asked = [...new Set([...this.#waiting.keys(), ...(own?.shards ?? [])])].map((shard) => ({ shard, request: take.request }));
    for (const [token, { request, shards, over }] of this.#unanswered) {
      if (token !== take.request.token && !over) continue;
      // Noted again where it fails: nobody else asks meanwhile.
      this.#unanswered.delete(token);
      if (over && token !== take.request.token) for (const shard of shards) asked.push({ shard, request });
    }
    await Promise.all(
      asked.map(async ({ shard, request }) => {
        const given = await this.#left(take, shard, undefined, () => this.#given(shard, request));
        if (given !== undefined) take.taken.push(...given);
        // Where this request was given nothing yet, there is nothing to learn of.
        else if (request !== take.request || own?.shards.has(shard) === true)
          this.#noteUnanswered(request, shard, request !== take.request);
      }),
    );
  }

  async #takeFrom(take: Take, shard: number, ones: readonly Waiting[]): Promise<void> {
    const ids = ones.map(({ id }) => id);
    const got = await this.#left(take, shard, undefined, () => this.#script(shard, take.request, ids, "more"));
    if (got !== undefined) take.taken.push(...got);
    else this.#noteUnanswered(take.request, shard, false);
  }

  /** Runs a step; where it fails, the shard is left out and asked again the next time. */
  async #left<T>(take: Take, shard: number, instead: T, step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (error) {
      take.failures.push(error);
      this.noteWaiting(shard);
      return instead;
    }
  }

  #noteUnanswered(request: LeaseRequest, shard: number, over: boolean): void {
    const known: Unanswered = this.#unanswered.get(request.token) ?? { request, shards: new Set(), over };
    known.shards.add(shard);
    this.#unanswered.set(request.token, known);
    const [oldest = ""] = this.#unanswered.keys();
    if (this.#unanswered.size > MAX_UNANSWERED) this.#unanswered.delete(oldest);
  }

  async #given(shard: number, request: LeaseRequest): Promise<Taken[]> {
    const { connections } = this.#context;
    const key = this.#context.keys(shard).taken(request.token);
    const given = await this.#context.retry(shard, () => connections.call(shard, "GET", key));
    return given === null ? [] : this.#script(shard, request, text(given).split(" "), "again");
  }

  async #find(shard: number, said: number, limit: number): Promise<Waiting[]> {
    const { connections } = this.#context;
    const { ready } = this.#context.keys(shard);
    const asked = limit + this.#newer.count(shard);
    const reply = await this.#context.retry(shard, () => connections.call(shard, "ZRANGE", ready, 0, asked - 1, "WITHSCORES"));
    const fields = list(reply).map(text);
    const since = new Map(Array.from({ length: fields.length / 2 }, (_, at) => [fields[2 * at] ?? "", Number(fields[2 * at + 1])]));
    const ids = this.#newer.without(shard, [...since.keys()], since.size < asked);
    if (ids.length === 0 && this.#waiting.get(shard) === said) this.#waiting.delete(shard);
    return ids.slice(0, limit).map((id) => ({ shard, id, since: since.get(id) ?? 0 }));
  }

  async #script(shard: number, { token, replica }: LeaseRequest, ids: readonly string[], how: "more" | "again"): Promise<Taken[]> {
    const keys = this.#context.keys(shard);
    const names = [keys.ready, keys.leases, keys.taken(token), ...ids.map((id) => keys.task(id))];
    const args = [token, replica, this.#context.options.leaseMs, how, ...ids];
    const { connections } = this.#context;
    const [taken, left] = list(await this.#context.retry(shard, () => connections.write(shard, SCRIPTS.take, names, args))).map((some) =>
      list(some).map(text),
    ) as [string[], string[]];
    this.#newer.note(shard, left);
    const metas = await this.#log.metas(keys, taken);
    return metas.flatMap((meta) => (meta === undefined ? [] : [{ lease: { taskId: meta.id, epoch: meta.epoch, token }, meta }]));
  }
}
