import { Connections, outcomeUnknown } from "../../src/storage/redis/connection/connections.ts";
import type { RedisOptions } from "../../src/storage/redis/connection/redis-options.ts";
import { TaskError } from "../../src/core/errors.ts";
import { scriptOf } from "./script-of.ts";

/** Connections of a test, with what they reported. */
export interface Opened extends AsyncDisposable {
  readonly connections: Connections;
  readonly warnings: readonly string[];
  /** Resolves at the next onBack with its shards. */
  back(): Promise<readonly number[]>;
  /** Resolves when the channel is subscribed again. */
  resubscribed(channel: string): Promise<void>;
  /** Resolves with the next message of the channel. */
  message(channel: string): Promise<string>;
}

export const shardTag = (shard: number): string => `{throughline:${shard}}`;

/** SETs KEYS[1] to ARGV[1]. */
export const SET = scriptOf("set", "redis.call('SET', KEYS[1], ARGV[1]) return 'OK'");

/** Opens connections that are closed at the end of the test. */
export async function openConnections(url: string, options: Partial<RedisOptions> = {}, agent = "agent"): Promise<Opened> {
  const warnings: string[] = [];
  const connections = await Connections.open(
    {
      url,
      prefix: "throughline",
      shards: 16,
      durability: "local",
      replicas: 1,
      commandTimeoutMs: 300,
      ...options,
    },
    { agent, shardTag, warn: (message) => warnings.push(message) },
  );
  const waiting = new Map<string, ((value: unknown) => void)[]>();
  const next = async <T>(name: string): Promise<T> => {
    const { promise, resolve } = Promise.withResolvers<T>();
    waiting.set(name, [...(waiting.get(name) ?? []), resolve as (value: unknown) => void]);
    return await promise;
  };
  const happened = (name: string, value: unknown): void => {
    for (const resolve of waiting.get(name) ?? []) resolve(value);
    waiting.delete(name);
  };
  connections.onBack = (shards) => happened("back", shards);
  connections.onResubscribed = (_shard, channel) => happened(`resubscribed ${channel}`, undefined);
  connections.onMessage = (_shard, channel, message) => happened(`message ${channel}`, message.toString());
  return {
    connections,
    warnings,
    back: () => next("back"),
    resubscribed: (channel) => next(`resubscribed ${channel}`),
    message: (channel) => next(`message ${channel}`),
    [Symbol.asyncDispose]: () => connections.close(),
  };
}

/** For assert.rejects: the store is away, and whether the command may have been executed. */
export function away(outcome: "none" | "unknown"): (error: unknown) => boolean {
  return (error) =>
    error instanceof TaskError &&
    error.reason === "STORE_UNAVAILABLE" &&
    error.retryAfterMs === 1000 &&
    outcomeUnknown(error) === (outcome === "unknown");
}
