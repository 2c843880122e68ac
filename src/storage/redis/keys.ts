/** Every key and channel of the Redis store; nobody else puts one together. */
import type { ListFilter } from "../../core/storage.ts";
import { type Scope, scopeKey } from "../../core/scope.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{10}([0-9a-f]{2})$/;

/** The shard that an id names; undefined for what is no id of this store. */
export function shardOf(taskId: string, shards: number): number | undefined {
  const match = UUID.exec(taskId);
  if (match === null) return undefined;
  const shard = Number.parseInt(match[1] ?? "", 16);
  return shard < shards ? shard : undefined;
}

/** An id that names a shard: the last byte says it. */
export function withShard(id: string, shard: number): string {
  return id.slice(0, -2) + shard.toString(16).padStart(2, "0");
}

/** FNV-1a over the text: spreads keys evenly over shards, the same in every process. */
export function shardFor(key: string, shards: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at += 1) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  return (hash >>> 0) % shards;
}

/** Names of one shard. All begin with the same hash tag, so that one script in one slot may touch them together. */
export class ShardKeys {
  readonly shard: number;
  readonly tag: string;
  /** Owned tasks by the end of their lease. */
  readonly leases: string;
  /** Waiting tasks by the time since which they wait. */
  readonly ready: string;
  /** Tasks at rest by the time to expire them. */
  readonly end: string;
  /** Tasks with something to deliver to webhooks, by the time when it is due; a claim puts it off. */
  readonly due: string;
  /** Channel: something waits. */
  readonly wake: string;

  constructor(prefix: string, shard: number) {
    this.shard = shard;
    this.tag = `{${prefix}:${shard}}`;
    this.leases = `${this.tag}:leases`;
    this.ready = `${this.tag}:ready`;
    this.end = `${this.tag}:end`;
    this.due = `${this.tag}:due`;
    this.wake = `${this.tag}:wake`;
  }

  /** Keys of no meaning, for the look at what the user may do: one of each type. Removed in the same step. */
  get probes(): string[] {
    return ["text", "hash", "stream", "sorted", "set"].map((type) => `${this.tag}:probe:${type}`);
  }

  /** The record of a task. */
  task(id: string): string {
    return `${this.tag}:t:${id}`;
  }

  /** Its log. */
  log(id: string): string {
    return `${this.tag}:l:${id}`;
  }

  /** One part of a checkpoint. The token tells two writers of one checkpoint apart. */
  part(id: string, token: string, part: number): string {
    return `${this.tag}:c:${id}:${token}:${part}`;
  }

  /** A dedupe row. */
  repeat(key: string): string {
    return `${this.tag}:d:${key}`;
  }

  /** The keys of the dedupe rows of a task's follow-ups. */
  followUps(id: string): string {
    return `${this.tag}:q:${id}`;
  }

  /** The push configs of a task, by their ids. */
  pushConfigs(id: string): string {
    return `${this.tag}:p:${id}`;
  }

  /** How far the webhooks of a task are, by the ids of their push configs. */
  progress(id: string): string {
    return `${this.tag}:w:${id}`;
  }

  /** The ids that a take gave, for its repeat. */
  taken(token: string): string {
    return `${this.tag}:k:${token}`;
  }

  /** When a quota is whole again. */
  quota(key: string): string {
    return `${this.tag}:u:${key}`;
  }

  /** Channel: the events of a task. */
  events(id: string): string {
    return `${this.tag}:e:${id}`;
  }

  /** Channel: commands for the tasks that a replica owns. */
  inbox(replica: string): string {
    return `${this.tag}:in:${replica}`;
  }

  /** The index of a list: by scope, and by the context and the state that the list is filtered by. */
  index(scope: Scope, { contextId, state }: Pick<ListFilter, "contextId" | "state">): string {
    // Lengths come first, so that no two lists share a key.
    const context = contextId === undefined ? "" : `:c${contextId.length}:${contextId}`;
    return `${this.tag}:i:${scopeKey(scope)}${context}${state === undefined ? "" : `:s${state}`}`;
  }
}

const TIME_DIGITS = 15;

/** A row of an index: rows sort by status time, then by id. All scores are 0, so that Redis orders them by their bytes. */
export function indexRow(statusTime: number, id: string): string {
  return String(statusTime).padStart(TIME_DIGITS, "0") + id;
}

/** The time and id of a row. */
export function parseIndexRow(row: string): { statusTime: number; id: string } {
  return { statusTime: Number(row.slice(0, TIME_DIGITS)), id: row.slice(TIME_DIGITS) };
}
