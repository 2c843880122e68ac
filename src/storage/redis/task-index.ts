/** ListTasks over shards: the newest rows of each, merged. */
import type { Scope } from "../../core/scope.ts";
import type { ListCursor, ListFilter, ListPage, ListRow } from "../../core/storage.ts";
import type { Call } from "./connection/reply.ts";
import type { RedisContext } from "./context.ts";
import { indexRow, parseIndexRow, type ShardKeys } from "./keys.ts";
import { bytes, list, state, text } from "./replies.ts";

/** A row of an index and where its task lies. */
interface Found extends ListCursor {
  readonly shard: number;
}

/** Reads pages. */
export class TaskIndex {
  readonly #context: RedisContext;

  constructor(context: RedisContext) {
    this.#context = context;
  }

  /** A page, newest first, and how many rows the filter lets through in all. */
  async page(scope: Scope, filter: ListFilter, after: ListCursor | undefined, limit: number): Promise<ListPage> {
    const shards = await Promise.all(this.#context.shards.map((keys) => this.#shard(keys, scope, filter, after, limit)));
    const total = shards.reduce((sum, { count }) => sum + count, 0);
    const rowsFound = shards.flatMap(({ rows }) => rows).toSorted(newestFirst);
    const rows = await this.#heads(rowsFound.slice(0, limit));
    return { rows, total, more: rowsFound.length > limit };
  }

  async #shard(
    keys: ShardKeys,
    scope: Scope,
    filter: ListFilter,
    after: ListCursor | undefined,
    limit: number,
  ): Promise<{ count: number; rows: Found[] }> {
    const index = keys.index(scope, filter);
    const from = filter.since === undefined ? "-" : `[${indexRow(Math.max(0, filter.since), "")}`;
    const below = after === undefined ? "+" : `(${indexRow(after.statusTime, after.id)}`;
    const calls: Call[] = [
      filter.since === undefined ? ["ZCARD", index] : ["ZLEXCOUNT", index, from, "+"],
      ["ZREVRANGEBYLEX", index, below, from, "LIMIT", 0, limit + 1],
    ];
    const [count, rows] = await this.#context.retry(keys.shard, () => this.#context.connections.many(keys.shard, calls));
    return { count: Number(count), rows: list(rows).map((row) => found(keys.shard, text(row))) };
  }

  async #heads(rows: readonly Found[]): Promise<ListRow[]> {
    const byShard = [...Map.groupBy(rows, ({ shard }) => shard)];
    const heads = new Map<string, ListRow>();
    await Promise.all(
      byShard.map(async ([shard, ones]) => {
        const keys = this.#context.keys(shard);
        const calls = ones.map(({ id }): Call => ["HMGET", keys.task(id), "st", "ts", "hd", "hl"]);
        const replies = await this.#context.retry(keys.shard, () => this.#context.connections.many(keys.shard, calls));
        for (const [at, reply] of replies.entries()) {
          const [stored, statusTime, task, historyLength] = list(reply);
          const id = ones[at]?.id ?? "";
          if (stored === null) continue;
          const head = {
            state: state(stored),
            statusTime: Number(text(statusTime)),
            task: bytes(task),
            historyLength: Number(text(historyLength)),
          };
          heads.set(id, { id, head });
        }
      }),
    );
    // A task that went since its row was read is not shown.
    return rows.flatMap(({ id }) => heads.get(id) ?? []);
  }
}

function found(shard: number, row: string): Found {
  const { statusTime, id } = parseIndexRow(row);
  return { shard, statusTime, id };
}

function newestFirst(a: ListCursor, b: ListCursor): number {
  if (a.statusTime !== b.statusTime) return b.statusTime - a.statusTime;
  return a.id < b.id ? 1 : -1;
}
