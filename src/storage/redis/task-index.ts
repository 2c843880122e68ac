/** ListTasks over shards: the newest rows of each, merged. */
import type { Scope } from "../../core/scope.ts";
import type { Head, ListCursor, ListFilter, ListPage, ListRow } from "../../core/storage.ts";
import type { Call, Reply } from "./connection/reply.ts";
import type { RedisContext } from "./context.ts";
import { indexRow, parseIndexRow, type ShardKeys } from "./keys.ts";
import { bytes, list, state, text } from "./replies.ts";

/** Bytes of heads after which a page ends: what one reply may take of the connection that all share. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;

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
    const { rows, cut } = await this.#heads(rowsFound.slice(0, limit));
    return { rows, total, more: cut || rowsFound.length > limit };
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

  /** The heads of rows, in their order: of as many as are not too large together, at least one. A task that went meanwhile is left out. */
  async #heads(rows: readonly Found[]): Promise<{ readonly rows: ListRow[]; readonly cut: boolean }> {
    const sizes = await this.#ask(rows, (keys, id) => ["HSTRLEN", keys.task(id), "hd"]);
    let together = 0;
    const fit = rows.findIndex((_, at) => {
      together += Number(sizes[at]);
      return at > 0 && together > MAX_PAGE_BYTES;
    });
    const shown = fit === -1 ? rows : rows.slice(0, fit);
    const heads = await this.#ask(shown, (keys, id) => ["HMGET", keys.task(id), "st", "ts", "hd", "hl"]);
    const listed = shown.flatMap(({ id }, at) => {
      const head = parseHead(heads[at]);
      return head === undefined ? [] : [{ id, head }];
    });
    return { rows: listed, cut: shown.length < rows.length };
  }

  /** One command for each row, in one write for each shard. */
  async #ask(rows: readonly Found[], call: (keys: ShardKeys, id: string) => Call): Promise<Reply[]> {
    const replies: Reply[] = [];
    const byShard = [...Map.groupBy(rows.keys(), (at) => (rows[at] as Found).shard)];
    await Promise.all(
      byShard.map(async ([shard, places]) => {
        const keys = this.#context.keys(shard);
        const calls = places.map((at) => call(keys, (rows[at] as Found).id));
        const answers = await this.#context.retry(shard, () => this.#context.connections.many(shard, calls));
        for (const [index, at] of places.entries()) replies[at] = answers[index] ?? null;
      }),
    );
    return replies;
  }
}

function parseHead(reply: Reply | undefined): Head | undefined {
  const [stored, statusTime, task, historyLength] = list(reply);
  if (stored === null) return undefined;
  return {
    state: state(stored),
    statusTime: Number(text(statusTime)),
    task: bytes(task),
    historyLength: Number(text(historyLength)),
  };
}

function found(shard: number, row: string): Found {
  const { statusTime, id } = parseIndexRow(row);
  return { shard, statusTime, id };
}

function newestFirst(a: ListCursor, b: ListCursor): number {
  if (a.statusTime !== b.statusTime) return b.statusTime - a.statusTime;
  return a.id < b.id ? 1 : -1;
}
