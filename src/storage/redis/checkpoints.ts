/** Folds beside their logs: parts by plain SET, then one script that switches the pointer and trims. */
import { taskNotFound } from "../../core/errors.ts";
import { newerVersion, READS } from "../../core/format.ts";
import { newMark } from "../../core/log-entry.ts";
import type { Lease, StoredCheckpoint } from "../../core/storage.ts";
import type { Call, Reply } from "./connection/reply.ts";
import type { RedisContext } from "./context.ts";
import type { ShardKeys } from "./keys.ts";
import { accepted, bytes, list, position, text } from "./replies.ts";
import { SCRIPTS } from "./scripts.ts";
import { outcomeUnknown } from "./connection/store-error.ts";

const PART_BYTES = 1024 * 1024;
/** Parts whose pointer was never switched go by themselves. */
const ORPHAN_MS = 10 * 60 * 1000;
/** A read starts again where a newer checkpoint took the place of the one being read; this often. */
const MAX_RESTARTS = 20;

/** Where the parts of a checkpoint are: position, token, how many. */
export interface Pointer {
  readonly position: string;
  readonly token: string;
  readonly parts: number;
}

/** Reads a pointer as it is stored; undefined where there is none. */
export function parsePointer(written: string): Pointer | undefined {
  const [at = "", token = "", parts] = written.split(":");
  return written === "" ? undefined : { position: at, token, parts: Number(parts) };
}

/** The keys of the parts. */
export function partKeys(keys: ShardKeys, taskId: string, pointer: Pointer | undefined): string[] {
  if (pointer === undefined) return [];
  return Array.from({ length: pointer.parts }, (_, part) => keys.part(taskId, pointer.token, part));
}

/** Checkpoints in Redis. */
export class Checkpoints {
  readonly #context: RedisContext;

  constructor(context: RedisContext) {
    this.#context = context;
  }

  /** The latest checkpoint. Throws NEWER_VERSION where a newer version may have written it. */
  async read(taskId: string): Promise<StoredCheckpoint | undefined> {
    const keys = this.#context.of(taskId);
    if (keys === undefined) return undefined;
    for (let restart = 0; restart < MAX_RESTARTS; restart += 1) {
      const pointer = parsePointer(await this.#readable(keys, taskId));
      if (pointer === undefined) return undefined;
      const parts: Uint8Array[] = [];
      for (const key of partKeys(keys, taskId, pointer)) {
        const part = await this.#context.retry(keys.shard, () => this.#context.connections.call(keys.shard, "GET", key));
        if (part === null) break;
        parts.push(bytes(part));
      }
      if (parts.length === pointer.parts) {
        const [only] = parts;
        return { position: position(pointer.position), bytes: parts.length === 1 && only !== undefined ? only : Buffer.concat(parts) };
      }
    }
    return undefined;
  }

  /** Stores a checkpoint, unless a later one stands. */
  async write(taskId: string, lease: Lease | undefined, { position: at, bytes: fold }: StoredCheckpoint): Promise<void> {
    const keys = this.#context.of(taskId);
    if (keys === undefined) throw taskNotFound(taskId);
    const { connections } = this.#context;
    const parts = Math.max(1, Math.ceil(fold.length / PART_BYTES));
    const pointer = { position: `${at.offset}.${at.mark}`, token: newMark(), parts };
    const names = partKeys(keys, taskId, pointer);
    let old = "";
    for (const [part, key] of names.entries()) {
      const piece = fold.subarray(part * PART_BYTES, (part + 1) * PART_BYTES);
      const calls: Call[] = [
        ["SET", key, piece, "PX", ORPHAN_MS],
        ["HGET", keys.task(taskId), "cp"],
      ];
      const [, stands] = await this.#context.retry(keys.shard, () => connections.many(keys.shard, calls));
      old = text(stands);
    }
    try {
      for (;;) {
        const stands = old;
        const reply = await this.#context.retry(keys.shard, () => this.#switch(keys, taskId, lease, pointer, stands));
        const [word] = accepted(reply, taskId);
        if (word === "OK") return;
        if (word !== "RETRY") break;
        old = await this.#pointer(keys, taskId);
      }
    } catch (error) {
      // Where nobody knows whether the pointer was switched, the parts may be the checkpoint; else they go by themselves.
      if (!outcomeUnknown(error)) await this.#discard(keys, names);
      throw error;
    }
    await this.#discard(keys, names);
  }

  #switch(keys: ShardKeys, taskId: string, lease: Lease | undefined, pointer: Pointer, old: string): Promise<Reply> {
    const { options, connections } = this.#context;
    const names = [keys.task(taskId), keys.log(taskId), keys.progress(taskId), ...partKeys(keys, taskId, pointer)];
    names.push(...partKeys(keys, taskId, parsePointer(old)));
    const [offset = "", mark = ""] = pointer.position.split(".");
    const written = `${pointer.position}:${pointer.token}:${pointer.parts}`;
    const args = [lease?.epoch ?? "", lease?.token ?? "", offset, mark, written, pointer.parts, old];
    args.push(options.windowEntries, options.windowBytes, options.webhookLagBytes);
    return connections.write(keys.shard, SCRIPTS.checkpoint, names, args);
  }

  async #readable(keys: ShardKeys, taskId: string): Promise<string> {
    const { connections } = this.#context;
    const [pointer, format] = list(
      await this.#context.retry(keys.shard, () => connections.call(keys.shard, "HMGET", keys.task(taskId), "cp", "fv")),
    ).map(text);
    if (Number(format) > READS) throw newerVersion(taskId);
    return pointer ?? "";
  }

  async #pointer(keys: ShardKeys, taskId: string): Promise<string> {
    return text(await this.#context.retry(keys.shard, () => this.#context.connections.call(keys.shard, "HGET", keys.task(taskId), "cp")));
  }

  /** Takes parts back that nothing points to. They would go by themselves: where Redis is away, that is enough. */
  async #discard(keys: ShardKeys, names: readonly string[]): Promise<void> {
    const calls = names.map((name): Call => ["UNLINK", name]);
    await this.#context.connections.many(keys.shard, calls).catch(() => undefined);
  }
}
