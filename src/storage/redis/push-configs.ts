/** Configurations of webhooks: a hash beside the task's record. */
import { taskNotFound } from "../../core/errors.ts";
import { byId, type PushConfigRequest, type PushConfigs, type StoredPushConfig } from "../../core/push-configs.ts";
import type { RedisContext } from "./context.ts";
import { accepted, bytes, list, text } from "./replies.ts";
import type { RedisDeliveries } from "./redis-deliveries.ts";
import { unavailable } from "./connection/store-error.ts";
import { SCRIPTS } from "./scripts.ts";
import type { Visibility } from "./visibility.ts";

/** Push configs in Redis. */
export class RedisPushConfigs implements PushConfigs {
  readonly #context: RedisContext;
  readonly #visibility: Visibility;
  readonly #deliveries: RedisDeliveries;

  constructor(context: RedisContext, visibility: Visibility, deliveries: RedisDeliveries) {
    this.#context = context;
    this.#visibility = visibility;
    this.#deliveries = deliveries;
  }

  async setPushConfig(taskId: string, { id, bytes: written, most }: PushConfigRequest): Promise<void> {
    const keys = this.#context.of(taskId);
    if (keys === undefined) throw taskNotFound(taskId);
    const names = [keys.task(taskId), keys.pushConfigs(taskId), keys.progress(taskId), keys.due];
    const { connections } = this.#context;
    const args = [id, written, most, taskId];
    const reply = await this.#context.retry(keys.shard, () => connections.write(keys.shard, SCRIPTS.push, names, args));
    const [, due] = accepted(reply, taskId);
    await this.#settled(keys.shard, taskId);
    this.#deliveries.heard(keys.shard, taskId, due);
    // A failover in between may have lost it, and confirmed what came after.
    if (this.#context.connections.durable && (await this.pushConfig(taskId, id)) === undefined) {
      throw unavailable(new Error("the master that took the push configuration is gone, and the configuration with it"), "unknown");
    }
  }

  async pushConfig(taskId: string, id: string): Promise<StoredPushConfig | undefined> {
    const keys = this.#context.of(taskId);
    if (keys === undefined) return undefined;
    const name = keys.pushConfigs(taskId);
    const stored = await this.#context.retry(keys.shard, () => this.#context.connections.call(keys.shard, "HGET", name, id));
    return stored === null ? undefined : { id, bytes: bytes(stored) };
  }

  async pushConfigs(taskId: string): Promise<readonly StoredPushConfig[]> {
    const keys = this.#context.of(taskId);
    if (keys === undefined) return [];
    const name = keys.pushConfigs(taskId);
    const fields = list(await this.#context.retry(keys.shard, () => this.#context.connections.call(keys.shard, "HGETALL", name)));
    const configs: StoredPushConfig[] = [];
    for (let at = 0; at < fields.length; at += 2) configs.push({ id: text(fields[at]), bytes: bytes(fields[at + 1]) });
    return configs.toSorted(byId);
  }

  async deletePushConfig(taskId: string, id: string): Promise<void> {
    const keys = this.#context.of(taskId);
    if (keys === undefined) return;
    const names = [keys.task(taskId), keys.pushConfigs(taskId), keys.progress(taskId)];
    await this.#context.retry(keys.shard, () => this.#context.connections.write(keys.shard, SCRIPTS.unpush, names, [id]));
    // Also where it was gone: an attempt of before may have removed it and not been confirmed.
    await this.#settled(keys.shard, taskId);
  }

  /** What was written is as safe as an entry of the log before it is acknowledged. */
  async #settled(shard: number, taskId: string): Promise<void> {
    if (this.#context.connections.durable) await this.#visibility.settle(shard, [taskId]);
  }
}
