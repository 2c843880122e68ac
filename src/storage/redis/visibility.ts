/** Durability beyond `local`: entries are written unseen, and become visible when enough servers have them. */
import type { Position } from "../../core/log-entry.ts";
import type { RedisContext } from "./context.ts";
import { list, text } from "./replies.ts";
import { SCRIPTS } from "./scripts.ts";

/** Waits for confirmations and makes visible what is confirmed. Does nothing where a reply of the master is enough. */
export class Visibility {
  readonly #context: RedisContext;

  constructor(context: RedisContext) {
    this.#context = context;
  }

  /** Resolves when the entries up to a position, written by this replica, are confirmed and visible. `tell`: the owner is to be told. */
  async confirm(shard: number, taskId: string, { offset, mark }: Position, tell: boolean): Promise<void> {
    const { connections } = this.#context;
    if (!connections.durable) return;
    await connections.confirmed(shard);
    const keys = this.#context.keys(shard);
    const args = [taskId, offset, mark, connections.publishCommand, keys.events(taskId), tell ? keys.inbox("") : ""];
    await this.#context.retry(shard, () => connections.script(shard, SCRIPTS.confirm, [keys.task(taskId)], args));
  }

  /** Confirms what somebody else wrote: by a write of this replica's own, which comes after it. */
  async settle(shard: number, taskIds: readonly string[]): Promise<void> {
    const { connections } = this.#context;
    const keys = this.#context.keys(shard);
    await Promise.all(
      taskIds.map(async (taskId) => {
        const reply = await this.#context.retry(shard, () => connections.write(shard, SCRIPTS.touch, [keys.task(taskId)], []));
        const [offset, mark] = list(reply).map(text);
        if (offset === "NOT_FOUND") return;
        await this.confirm(shard, taskId, { offset: Number(offset), mark: mark ?? "" }, true);
      }),
    );
  }
}
