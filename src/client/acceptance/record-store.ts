/** Where records are: the port, and a store in memory. */
import type { AcceptanceRecord } from "./record.ts";

/** The records of one context, in the order in which they were appended. */
export interface ContextRecords {
  readonly records: readonly AcceptanceRecord[];
  /** Where the next one goes. */
  readonly end: number;
}

/**
 * A store of records: an append-only list per context. Everything that is decided is decided on a list as it was read, so that appending
 * is the one step that must be atomic. Shared by as many processes as it can be reached from.
 */
export interface RecordStore {
  /** What is there. Whatever was appended before is in it, whole. */
  read(contextId: string): Promise<ContextRecords>;
  /**
   * Appends to the record's context if nothing was appended there after `end` was read; otherwise answers false, and nothing has happened.
   * Where it answers true the record is durable. Where it rejects, either may be the case: read again.
   */
  append(record: AcceptanceRecord, end: number): Promise<boolean>;
  /** The records of all contexts, those of one in their order. */
  all(): Promise<readonly AcceptanceRecord[]>;
  /** Keeps the bytes that `digest` names; the same again changes nothing. */
  keep(digest: string, bytes: Uint8Array): Promise<void>;
  /** Bytes that were kept; undefined where there are none. */
  content(digest: string): Promise<Uint8Array | undefined>;
}

/** Records for as long as this process lives. */
export class MemoryRecords implements RecordStore {
  readonly #contexts = new Map<string, AcceptanceRecord[]>();
  readonly #content = new Map<string, Uint8Array>();

  async read(contextId: string): Promise<ContextRecords> {
    const records = this.#contexts.get(contextId) ?? [];
    return { records: records.slice(), end: records.length };
  }

  async append(record: AcceptanceRecord, end: number): Promise<boolean> {
    const records = this.#contexts.get(record.contextId) ?? [];
    if (records.length !== end) return false;
    this.#contexts.set(record.contextId, [...records, record]);
    return true;
  }

  async all(): Promise<readonly AcceptanceRecord[]> {
    return [...this.#contexts.values()].flat();
  }

  async keep(digest: string, bytes: Uint8Array): Promise<void> {
    this.#content.set(digest, bytes.slice());
  }

  async content(digest: string): Promise<Uint8Array | undefined> {
    return this.#content.get(digest)?.slice();
  }
}
