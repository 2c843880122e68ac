/** Reads records: what was decided, and what stands. Asks no agent. */
import { AcceptanceError } from "./acceptance-error.ts";
import type { AcceptanceRecord } from "./record.ts";
import type { RecordStore } from "./record-store.ts";
import { currentOf, worksOf } from "./standing.ts";

/** Which records. */
export interface RecordFilter {
  readonly contextId?: string;
  readonly taskId?: string;
  /** Only the accepted ones that stand: one for each piece of work of a context. Default false. */
  readonly current?: boolean;
}

/** A store, read. */
export class RecordReader {
  protected readonly store: RecordStore;

  constructor(store: RecordStore) {
    this.store = store;
  }

  /** Records in the order in which they were made; of several contexts, in that of their times. */
  async list({ contextId, taskId, current = false }: RecordFilter = {}): Promise<readonly AcceptanceRecord[]> {
    const all = contextId === undefined ? await this.store.all() : (await this.store.read(contextId)).records;
    const byContext = Map.groupBy(all, (record) => record.contextId);
    const wanted = current
      ? [...byContext.values()].flatMap((records) => worksOf(records).flatMap((work) => currentOf(records, work) ?? []))
      : all;
    const ordered = contextId === undefined ? wanted.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at)) : wanted;
    return taskId === undefined ? ordered : ordered.filter((record) => record.taskId === taskId);
  }

  /**
   * The accepted record that stands for a piece of work; undefined where there is none. `work` may be left out where a context has only one;
   * otherwise throws AcceptanceError, which names them.
   */
  async current(contextId: string, work?: string): Promise<AcceptanceRecord | undefined> {
    const { records } = await this.store.read(contextId);
    const works = worksOf(records);
    if (work === undefined && works.length > 1)
      throw new AcceptanceError("work", `the context has several, say which: ${works.join(", ")}`);
    const wanted = work ?? works[0];
    return wanted === undefined ? undefined : currentOf(records, wanted);
  }

  /** The bytes that were judged; undefined where they were not kept. */
  async content({ content }: AcceptanceRecord): Promise<Uint8Array | undefined> {
    return content === undefined ? undefined : this.store.content(content.digest);
  }
}
