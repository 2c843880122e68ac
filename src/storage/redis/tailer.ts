/** The reader of Redis that all followers of this replica share: one subscription per followed task, gaps filled from the log. */
import { isAway, TaskError, taskNotFound } from "../../core/errors.ts";
import { isNewer } from "../../core/format.ts";
import { type Entry, type Position, samePosition } from "../../core/log-entry.ts";
import type { TailStep } from "../../core/storage.ts";
import type { RedisContext } from "./context.ts";
import { Feed } from "./feed.ts";
import { type News, parseNews } from "./replies.ts";
import type { TaskLog } from "./task-log.ts";

/** The last reader has left: the subscription stays this long, for the next one. */
const LINGER_MS = 1000;
/** A task that began here is followed without a subscription for this long: most are over by then. */
const ALONE_MS = 250;
/** A task that was quiet for this long is asked for: the last message may have been lost. */
const QUIET_MS = 15_000;
const PROBE_MS = 5000;
/** Tasks of one probe. */
const PROBE_LIMIT = 500;
/** Bytes of all windows together; what was heard of longest ago goes first. */
const WINDOWS_BYTES = 32 * 1024 * 1024;
/** Wait between two attempts to fetch while Redis is away. */
const RETRY_MS = 250;

/** When quiet tasks are asked for. */
interface ProbeTimes {
  readonly quietMs: number;
  readonly probeMs: number;
}

/** A feed in use. */
interface Attached {
  readonly feed: Feed;
  /** Settles when it is subscribed and knows the log's end; rejects TASK_NOT_FOUND. */
  readonly ready: Promise<void>;
  /** A fetch is under way; `again` asks for another one after it. */
  fetching: Promise<void> | undefined;
  again: boolean;
  linger: NodeJS.Timeout | undefined;
  /** Subscribed, or about to be. */
  subscribed: boolean;
}

/** Keeps a feed for every task that is followed here. */
export class Tailer {
  readonly #context: RedisContext;
  readonly #log: TaskLog;
  // The order is that in which they were heard of.
  readonly #feeds = new Map<string, Attached>();
  readonly #quietMs: number;
  readonly #probing: NodeJS.Timeout;
  #bytes = 0;
  #closed = false;

  constructor(context: RedisContext, log: TaskLog, { quietMs, probeMs }: ProbeTimes = { quietMs: QUIET_MS, probeMs: PROBE_MS }) {
    this.#context = context;
    this.#log = log;
    this.#quietMs = quietMs;
    this.#probing = setInterval(() => this.#probe(), probeMs);
    this.#probing.unref();
  }

  /** Tasks that are followed here, or were a moment ago. */
  get size(): number {
    return this.#feeds.size;
  }

  /** Whether the store is closed: nothing more will be heard. */
  get closed(): boolean {
    return this.#closed;
  }

  /** The feed of a task, kept until {@link detach}. Await `ready` before reading it. */
  attach(taskId: string, shard: number): Attached {
    let attached = this.#feeds.get(taskId);
    if (attached === undefined) {
      const feed = new Feed(taskId, shard);
      const begun = attach(feed, this.#begin(feed), true);
      attached = begun;
      this.#feeds.set(taskId, attached);
      // Whoever reads hears of it; nobody may be reading any more.
      attached.ready.catch(() => this.#forget(begun));
    }
    clearTimeout(attached.linger);
    attached.linger = undefined;
    attached.feed.readers += 1;
    return attached;
  }

  /**
   * A task has begun here, under a lease of this replica: its feed is whole without a subscription, since nobody else appends events to it
   * for now. One that lasts is subscribed to all the same, for its lease may be lost.
   */
  began(taskId: string, shard: number, end: Position): void {
    if (this.#feeds.has(taskId)) return;
    const feed = new Feed(taskId, shard);
    feed.reset(end, false);
    const attached = attach(feed, Promise.resolve(), false);
    this.#feeds.set(taskId, attached);
    this.#joinAfter(ALONE_MS, attached);
  }

  /** The lease is given back that a task began under here: others may append to it now. Its readers are subscribed at once. */
  released(taskId: string): void {
    const attached = this.#feeds.get(taskId);
    if (attached !== undefined) void this.#join(attached);
  }

  /** A reader has left. */
  detach(attached: Attached): void {
    const { feed } = attached;
    feed.readers -= 1;
    if (feed.readers > 0 || this.#feeds.get(feed.taskId) !== attached) return;
    if (feed.sealed && !attached.subscribed) return this.#forget(attached);
    attached.linger = setTimeout(() => this.#forget(attached), LINGER_MS);
    attached.linger.unref();
  }

  /** Entries that this replica appended itself: no need to wait for the message. */
  appended(taskId: string, before: Position, entries: readonly Entry[], sealed: boolean): void {
    const attached = this.#feeds.get(taskId);
    const after = entries.at(-1);
    if (attached !== undefined && after !== undefined) this.#hear(attached, { before, after, sealed, entries });
  }

  /** A message came. */
  message(taskId: string, message: Buffer): void {
    const attached = this.#feeds.get(taskId);
    if (attached !== undefined) this.#hear(attached, parseNews(message));
  }

  /** A subscription was made again: something may have been said meanwhile. */
  resubscribed(taskId: string): void {
    const attached = this.#feeds.get(taskId);
    if (attached !== undefined) this.fetch(attached);
  }

  /** Fetches what the feed does not have. */
  fetch(attached: Attached): void {
    attached.again = true;
    attached.fetching ??= this.#fetch(attached).finally(() => {
      attached.fetching = undefined;
    });
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#probing);
    for (const [taskId, { linger, feed }] of this.#feeds) {
      clearTimeout(linger);
      feed.reset(feed.end, true);
      this.#feeds.delete(taskId);
    }
  }

  async #begin(feed: Feed): Promise<void> {
    await this.#subscribe(feed);
    const end = await this.#log.end(feed.taskId);
    if (end === undefined) throw taskNotFound(feed.taskId);
    feed.reset(end.position, end.sealed);
  }

  async #subscribe({ taskId, shard }: Feed): Promise<void> {
    const { connections } = this.#context;
    const channel = this.#context.keys(shard).events(taskId);
    await this.#context.retry(shard, () => connections.subscribe(shard, channel));
    // Its last reader may have left while Redis was away for a moment.
    if (!this.#feeds.has(taskId)) await connections.unsubscribe(shard, channel);
  }

  /** Subscribes to a task that began here, after a while, if anybody follows it then. */
  #joinAfter(ms: number, attached: Attached): void {
    setTimeout(() => void this.#join(attached), ms).unref();
  }

  async #join(attached: Attached): Promise<void> {
    const { feed } = attached;
    if (attached.subscribed) return undefined;
    if (feed.readers === 0) return this.#forget(attached);
    if (feed.sealed || this.#feeds.get(feed.taskId) !== attached) return undefined;
    try {
      attached.subscribed = true;
      await this.#subscribe(feed);
      return this.fetch(attached);
    } catch {
      // Redis is away. What is appended here is followed all the same.
      attached.subscribed = false;
      return this.#joinAfter(RETRY_MS, attached);
    }
  }

  #forget(attached: Attached): void {
    const { taskId, shard, bytes } = attached.feed;
    clearTimeout(attached.linger);
    // It was forgotten before, and who has come since has a feed of its own.
    if (this.#feeds.get(taskId) !== attached) return;
    this.#feeds.delete(taskId);
    this.#bytes -= bytes;
    if (!attached.subscribed) return;
    const channel = this.#context.keys(shard).events(taskId);
    // Where the connection is lost, the subscription is too.
    this.#context.connections.unsubscribe(shard, channel).catch(() => undefined);
  }

  #hear(attached: Attached, news: News): void {
    const { feed } = attached;
    const before = feed.bytes;
    const complete = feed.add(news);
    this.#count(attached, before);
    if (!complete) this.fetch(attached);
  }

  #count(attached: Attached, before: number): void {
    const { feed } = attached;
    if (this.#feeds.get(feed.taskId) !== attached) return;
    this.#bytes += feed.bytes - before;
    if (feed.bytes === before) return;
    this.#feeds.delete(feed.taskId);
    this.#feeds.set(feed.taskId, attached);
    if (this.#bytes <= WINDOWS_BYTES) return;
    for (const { feed: oldest } of this.#feeds.values()) {
      if (this.#bytes <= WINDOWS_BYTES) break;
      this.#bytes -= oldest.bytes;
      oldest.drop();
    }
  }

  /** Reads the log from the feed's own end until there is no more. */
  async #fetch(attached: Attached): Promise<void> {
    const { feed } = attached;
    await attached.ready.catch(() => undefined);
    while (attached.again && !this.#closed && this.#feeds.get(feed.taskId) === attached) {
      attached.again = false;
      try {
        await this.#fetchOnce(attached);
      } catch (error) {
        if (error instanceof TaskError && error.reason === "TASK_NOT_FOUND") {
          // Gone with all its rows: every reader asks the log, and hears it there.
          feed.reset(feed.end, feed.sealed);
          return;
        }
        if (isNewer(error)) return feed.stop();
        attached.again = true;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  async #fetchOnce(attached: Attached): Promise<void> {
    const { feed } = attached;
    for (;;) {
      const before = feed.end;
      const end = await this.#log.end(feed.taskId);
      if (end === undefined) throw taskNotFound(feed.taskId);
      if (samePosition(end.position, before)) return this.#hear(attached, { before, after: before, sealed: end.sealed, entries: [] });
      const step: TailStep = await this.#log.read(feed.taskId, before);
      const last = step.is === "entries" ? step.entries.at(-1) : undefined;
      if (step.is === "gone" || last === undefined) {
        // Another history, or a place that is no longer kept: begin anew at the end.
        if (!samePosition(feed.end, before)) continue;
        const bytes = feed.bytes;
        feed.reset(end.position, end.sealed);
        this.#count(attached, bytes);
        return undefined;
      }
      // A message may have brought them meanwhile.
      if (!samePosition(feed.end, before)) continue;
      this.#hear(attached, {
        before,
        after: last,
        sealed: end.sealed && samePosition(last, end.position),
        entries: step.is === "entries" ? step.entries : [],
      });
    }
  }

  /** Asks for the end of tasks that were quiet: a lost last message would otherwise never be noticed. */
  #probe(): void {
    const now = performance.now();
    const quiet = [...this.#feeds.values()].filter(({ feed }) => !feed.sealed && now - feed.heard > this.#quietMs);
    const byShard = Map.groupBy(quiet, ({ feed }) => feed.shard);
    for (const [shard, attached] of byShard) {
      for (let at = 0; at < attached.length; at += PROBE_LIMIT) void this.#probeShard(shard, attached.slice(at, at + PROBE_LIMIT));
    }
  }

  async #probeShard(shard: number, quiet: readonly Attached[]): Promise<void> {
    try {
      const ends = await this.#log.ends(
        shard,
        quiet.map(({ feed }) => feed.taskId),
      );
      for (const [index, attached] of quiet.entries()) {
        const end = ends[index];
        if (end !== undefined && samePosition(end.position, attached.feed.end)) attached.feed.heard = performance.now();
        else this.fetch(attached);
      }
    } catch (error) {
      // Asked again at the next probe, and after a reconnect anyway.
      if (!isAway(error)) this.#context.warn(`redis: cannot ask where logs end: ${String(error)}`);
    }
  }
}

function attach(feed: Feed, ready: Promise<void>, subscribed: boolean): Attached {
  return { feed, ready, fetching: undefined, again: false, linger: undefined, subscribed };
}

export type { Attached };
