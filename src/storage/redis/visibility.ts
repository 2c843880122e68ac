/** Durability beyond `local`: entries are written unseen, and become visible when enough servers have them. */
import { isAway } from "../../core/errors.ts";
import type { Position } from "../../core/log-entry.ts";
import type { RedisContext } from "./context.ts";
import { unavailable } from "./connection/store-error.ts";
import { list, text } from "./replies.ts";
import { SCRIPTS } from "./scripts.ts";

/** A write that waits to be confirmed. */
export interface Written {
  readonly shard: number;
  readonly taskId: string;
  /** The last entry that it brought. */
  readonly last: Position;
  /** `writerEpoch` of before the write; undefined where it wrote nothing, because it had been carried out before. */
  readonly epoch: number | undefined;
}

/** Waits for confirmations and makes visible what is confirmed. Does nothing where a reply of the master is enough. */
export class Visibility {
  readonly #context: RedisContext;

  constructor(context: RedisContext) {
    this.#context = context;
  }

  /** What {@link Written} wants to know; to be asked before the write. */
  epoch(shard: number): number | undefined {
    const { connections } = this.#context;
    return connections.durable ? connections.writerEpoch(shard) : undefined;
  }

  /** Resolves when what was written is confirmed and visible. */
  async confirm({ shard, taskId, last, epoch }: Written): Promise<void> {
    const { connections } = this.#context;
    if (!connections.durable) return;
    if (epoch === undefined) return this.settleWrite(shard, taskId, last.offset, [last.mark]);
    try {
      await connections.confirmed(shard, epoch);
    } catch (error) {
      // Another connection knows nothing of the write; the same one would say the same again.
      if (!isAway(error) || connections.writerEpoch(shard) === epoch) throw error;
      return this.settleWrite(shard, taskId, last.offset, [last.mark]);
    }
    return this.#show(shard, taskId, last, false);
  }

  /** Confirms what somebody else wrote, or this replica on another connection: by a write that comes after it. Tells the owner of it. */
  async settle(shard: number, taskIds: readonly string[]): Promise<void> {
    await Promise.all(taskIds.map((taskId) => this.#settle(shard, taskId, [])));
  }

  /**
   * As {@link settle} for a write that may have been carried out by any attempt, on any connection: its last entry has this offset and one of
   * these marks. Rejects with STORE_UNAVAILABLE where the log does not have it: it went with its master, and has to be written again.
   */
  async settleWrite(shard: number, taskId: string, offset: number, marks: readonly string[]): Promise<void> {
    if (!this.#context.connections.durable || (await this.#settle(shard, taskId, [offset, ...marks]))) return;
    throw unavailable(new Error("the master that took the write is gone, and the write with it"), "unknown");
  }

  /** False where there is no such task, or no such entry in it. */
  async #settle(shard: number, taskId: string, written: readonly (string | number)[]): Promise<boolean> {
    const { connections } = this.#context;
    const keys = this.#context.keys(shard);
    const names = [keys.task(taskId), keys.log(taskId)];
    const end = await this.#context.retry(shard, async () => {
      const epoch = connections.writerEpoch(shard);
      const [offset, mark = ""] = list(await connections.write(shard, SCRIPTS.touch, names, written)).map(text);
      if (offset === "NOT_FOUND" || offset === "GONE") return undefined;
      await connections.confirmed(shard, epoch);
      return { offset: Number(offset), mark };
    });
    if (end === undefined) return false;
    await this.#show(shard, taskId, end, true);
    return true;
  }

  async #show(shard: number, taskId: string, { offset, mark }: Position, tell: boolean): Promise<void> {
    const { connections } = this.#context;
    const keys = this.#context.keys(shard);
    const args = [taskId, offset, mark, connections.publishCommand, keys.events(taskId), tell ? keys.inbox("") : ""];
    await this.#context.retry(shard, () => connections.script(shard, SCRIPTS.confirm, [keys.task(taskId)], args));
  }
}
