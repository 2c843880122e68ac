/** One webhook as a reader of its task's log: in order, at least once, from where it stands. */
import { create } from "@bufbuild/protobuf";
import { type StreamResponse, StreamResponseSchema, type TaskPushNotificationConfig } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Delivery, DeliveryState } from "../core/deliveries.ts";
import { TaskError } from "../core/errors.ts";
import { isNewer } from "../core/format.ts";
import { type Entry, formatPosition, type Position } from "../core/log-entry.ts";
import { pause } from "../core/pause.ts";
import { untilAnswered } from "../core/retrying.ts";
import type { Snapshots } from "../core/snapshots.ts";
import type { Storage } from "../core/storage.ts";
import { isTerminal, stateAfter } from "../core/task.ts";
import type { Log, Measures } from "../core/telemetry.ts";
import type { TraceContext } from "../core/trace-context.ts";
import { type TracedWork, type Tracing, UNTRACED } from "../core/tracing.ts";
import { coalesced, oneByOne, type Outgoing } from "./coalesce.ts";
import type { DeliveryOptions } from "./delivery-options.ts";
import { DeliveryTrace } from "./delivery-trace.ts";
import type { HeldClaim } from "./held-claim.ts";
import type { PageRoom } from "./page-room.ts";
import type { Posted, WebhookPoster } from "./webhook-poster.ts";
import { type SignNotification, type WebhookRequest, webhookRequest } from "./webhook-request.ts";

/** What all deliveries of a replica share. */
export interface DeliveryContext {
  readonly storage: Storage;
  readonly snapshots: Snapshots;
  readonly poster: WebhookPoster;
  readonly options: DeliveryOptions;
  readonly room: PageRoom;
  readonly log: Log;
  readonly measures: Measures;
  /** Default: traces only pass through. */
  readonly tracing?: Tracing | undefined;
  /** Reads a configuration as it is stored. Throws where no key opens it. */
  readonly decode: (taskId: string, config: Delivery["config"]) => TaskPushNotificationConfig;
  /** Signs a notification; undefined where none is signed. */
  readonly sign: SignNotification | undefined;
}

/** An attempt that was no success, and that was made with the configuration as it still is. */
type Failure = Exclude<Posted, { is: "delivered" | "withheld" }>;

/** What is passed over is reported at the latest when it is so much: otherwise the log would be kept for it. */
const PASSED_ENTRIES = 200;
const PASSED_BYTES = 256 * 1024;
/** Between two questions whether a claim is still held, while the store is away. */
const AWAY_MS = 500;

/** Delivers to one webhook under a claim. */
export class WebhookDelivery {
  readonly #context: DeliveryContext;
  readonly #claim: HeldClaim;
  readonly #configId: string;
  readonly #trace: DeliveryTrace;
  /** Nothing more is begun. */
  readonly #stop = new AbortController();
  /** A request under way is ended too, and a store that is away is not waited for. */
  readonly #kill = new AbortController();
  #stored: Delivery["config"];
  #cursor: Position;
  #failures: number;
  /** The last entry that was looked at. */
  #seen: number;
  /** Offset of the last entry of the event that was sent last. */
  #tried: number | undefined;
  #passed = { entries: 0, bytes: 0 };
  #waitUntil = 0;
  /** Ends the wait for the next attempt. */
  #wake = new AbortController();
  /** The configuration was written again. */
  #stale = false;
  #busy = true;
  #over = false;
  #newer = false;

  constructor(context: DeliveryContext, claim: HeldClaim, { config, acknowledged, failures, waitMs }: Delivery) {
    this.#context = context;
    this.#claim = claim;
    this.#configId = config.id;
    const { tracing = UNTRACED, snapshots } = context;
    this.#trace = new DeliveryTrace(tracing, claim.taskId, async () => (await snapshots.current(claim.taskId))?.snapshot.command);
    this.#stored = config;
    this.#cursor = acknowledged;
    this.#seen = acknowledged.offset;
    this.#failures = failures;
    if (waitMs > 0) this.#waitUntil = performance.now() + waitMs;
  }

  /** There is nothing more to do under this claim. */
  get over(): boolean {
    return this.#over;
  }

  /** It is over because a newer version has written to the log: only a replica of it goes on. */
  get newer(): boolean {
    return this.#newer;
  }

  /** Offset of the last entry that it has dealt with, where it waits for more; undefined where it has something to do or to wait out. */
  get idleAt(): number | undefined {
    return this.#busy || this.waitsMs > 0 ? undefined : this.#seen;
  }

  /** How long it still waits before its next attempt; 0 where it does not. */
  get waitsMs(): number {
    return Math.max(0, this.#waitUntil - performance.now());
  }

  /** Compares with what is stored now: a configuration that was written again is not kept waiting. */
  refresh(stored: Delivery["config"]): void {
    if (Buffer.compare(stored.bytes, this.#stored.bytes) === 0) return;
    this.#stale = true;
    this.#wake.abort();
  }

  /** Delivers until the task's end is acknowledged, the webhook is parked or gone, or it is stopped. Never rejects. */
  async run(): Promise<void> {
    const { log } = this.#context;
    try {
      while (!this.#ended) {
        if (this.#stale) await this.#reload();
        await this.#waitOut();
        if (!this.#ended && !this.#stale) await this.#read();
      }
    } catch (error) {
      this.#newer = isNewer(error);
      const expected = this.#newer || this.#kill.signal.aborted || (error instanceof TaskError && error.reason === "TASK_NOT_FOUND");
      if (!expected) log.error({ taskId: this.#claim.taskId, configId: this.#configId, error }, "a delivery broke off");
    } finally {
      this.#over = true;
      this.#busy = false;
    }
  }

  /** Begins no more; the request under way is waited for. */
  stop(): void {
    this.#stop.abort();
  }

  /** Ends whatever is under way. */
  kill(): void {
    this.#stop.abort();
    this.#kill.abort();
  }

  get #ended(): boolean {
    return this.#over || this.#stop.signal.aborted;
  }

  /** Goes on by what is stored now: with other settings, and, where it was deleted and made anew, from another place. */
  async #reload(): Promise<void> {
    const all = await this.#answered(() => this.#context.storage.deliveriesOf(this.#claim.taskId));
    const now = all.find(({ config }) => config.id === this.#configId);
    if (now?.is !== "active") return this.#end();
    this.#stale = false;
    this.#wake = new AbortController();
    this.#stored = now.config;
    this.#cursor = now.acknowledged;
    this.#failures = now.failures;
    this.#waitUntil = now.waitMs > 0 ? performance.now() + now.waitMs : 0;
    return undefined;
  }

  /** Follows the log until an attempt fails, the log ends, or the place is not kept any more. Whoever waits for a receiver holds no page. */
  async #read(): Promise<void> {
    const { storage, room } = this.#context;
    let alone: readonly Entry[] | undefined;
    this.#busy = false;
    for await (const step of storage.tail(this.#claim.taskId, this.#cursor, this.#stop.signal)) {
      this.#busy = true;
      if (this.#ended) return;
      if (step.is === "gone") return this.#behind();
      using place = room.hold(step.entries);
      if (place === undefined) {
        const [first] = this.#outgoing(step.entries);
        alone = step.entries.slice(0, first === undefined ? undefined : step.entries.indexOf(first.last) + 1);
        break;
      }
      if (!(await this.#page(step.entries))) return;
      this.#busy = false;
    }
    this.#busy = true;
    if (alone !== undefined) await this.#page(alone);
    else if (!this.#ended) await this.#finish();
  }

  /** The log has ended by itself: it is sealed and all of it is acknowledged, or the store was closed under it. */
  async #finish(): Promise<void> {
    const meta = await this.#answered(() => this.#context.storage.meta(this.#claim.taskId));
    if (meta === undefined) return this.#end();
    if (isTerminal(meta.state) && meta.position.offset <= this.#cursor.offset) return this.#report("done", "");
    return pause(AWAY_MS, this.#stop.signal);
  }

  #outgoing(entries: readonly Entry[]): Outgoing[] {
    const { events, coalesce } = this.#context.options;
    const wanted = events === "all" ? entries : entries.filter((entry) => entry.kind !== "event" || stateAfter(entry.event) !== undefined);
    return coalesce ? coalesced(wanted, this.#tried) : oneByOne(wanted);
  }

  /** False where it does not go on behind it. */
  async #page(entries: readonly Entry[]): Promise<boolean> {
    this.#trace.turnTo(entries);
    for (const { event, last } of this.#outgoing(entries)) {
      if (!(await this.#deliver(event, last))) return false;
    }
    await this.#pass(entries);
    return !this.#ended && !this.#stale;
  }

  /** Commands, and what it does not want, need no acknowledgement. */
  async #pass(entries: readonly Entry[]): Promise<void> {
    const last = entries.at(-1);
    if (last === undefined || last.offset <= this.#cursor.offset) return;
    const passed = entries.filter(({ offset }) => offset > this.#cursor.offset);
    this.#cursor = { offset: last.offset, mark: last.mark };
    this.#seen = last.offset;
    this.#passed.entries += passed.length;
    this.#passed.bytes += passed.reduce((sum, { bytes }) => sum + bytes.length, 0);
    if (this.#passed.entries > PASSED_ENTRIES || this.#passed.bytes > PASSED_BYTES) await this.#report("active", "");
  }

  /** Its place is not kept: it is too far behind, or what it stood on was lost in a failover. */
  async #behind(): Promise<void> {
    const current = await this.#answered(() => this.#context.snapshots.current(this.#claim.taskId));
    if (current === undefined) return this.#end();
    if (current.meta.firstOffset > this.#cursor.offset + 1) return this.#park("it is too far behind its task");
    // C-35: the task as it is now stands for all that came before.
    const { task, position } = current.snapshot;
    await this.#deliver(create(StreamResponseSchema, { payload: { case: "task", value: task } }), position);
    return undefined;
  }

  /** One attempt. Whether it is acknowledged, and there may be more to do. */
  async #deliver(event: StreamResponse, at: Position): Promise<boolean> {
    const config = this.#config();
    if (config === undefined) {
      await this.#failed({ is: "retry", cause: "its configuration cannot be decrypted here", afterMs: undefined });
      return false;
    }
    this.#tried = at.offset;
    const { hostname } = new URL(config.url);
    let work: TracedWork | undefined;
    const make = async (): Promise<WebhookRequest | undefined> => {
      if (!(await this.#wanted())) return undefined;
      work = await this.#trace.begin(at.offset, hostname);
      return this.#request(config, event, at, work.trace);
    };
    const target = { hostname, owner: await this.#answered(() => this.#claim.owner(this.#context.storage)) };
    const posted = await this.#context.poster.post(target, this.#kill.signal, make);
    work?.ended(posted.is, posted.is !== "delivered");
    if (posted.is !== "withheld") this.#context.measures.posted(posted.is);
    if (posted.is === "delivered") {
      const state = stateAfter(event);
      await this.#acknowledge(at, state !== undefined && isTerminal(state));
      return !this.#ended && !this.#stale;
    }
    // What the receiver of an earlier configuration has said counts no more.
    if (posted.is !== "withheld" && (await this.#isAsStored())) await this.#failed(posted);
    return false;
  }

  /** The configuration in clear; undefined where no key of this replica opens it. */
  #config(): TaskPushNotificationConfig | undefined {
    try {
      return this.#context.decode(this.#claim.taskId, this.#stored);
    } catch {
      return undefined;
    }
  }

  #request(config: TaskPushNotificationConfig, event: StreamResponse, at: Position, trace?: TraceContext): Promise<WebhookRequest> {
    const { taskId } = this.#claim;
    const facts = { taskId, eventId: `${taskId}/${formatPosition(at)}`, now: Date.now(), trace };
    return webhookRequest(config, event, facts, this.#context.sign);
  }

  async #failed(posted: Failure): Promise<void> {
    const { maxFailures } = this.#context.options;
    if (posted.is === "gone") {
      await this.#answered(() => this.#context.storage.deletePushConfig(this.#claim.taskId, this.#configId));
      return this.#end();
    }
    this.#failures += 1;
    if (posted.is === "refused") return this.#park(posted.cause);
    if (this.#failures >= maxFailures) return this.#park(`${posted.cause}; it failed ${this.#failures} times in a row`);
    const waitMs = Math.max(posted.afterMs ?? 0, this.#backoffMs());
    this.#waitUntil = performance.now() + waitMs;
    return this.#report("active", posted.cause, waitMs);
  }

  /** Twice as long each time, between half of it and the whole. */
  #backoffMs(): number {
    const { retryBaseMs, retryMaxMs } = this.#context.options;
    const whole = Math.min(retryBaseMs * 2 ** Math.min(this.#failures - 1, 30), retryMaxMs);
    return whole / 2 + (Math.random() * whole) / 2;
  }

  async #waitOut(): Promise<void> {
    if (this.waitsMs > 0) await pause(this.waitsMs, AbortSignal.any([this.#stop.signal, this.#wake.signal]));
    this.#waitUntil = 0;
  }

  /** Whether the request is to be made: after a deletion at most the one under way arrives, and nothing of a claim that was lost. */
  async #wanted(): Promise<boolean> {
    if (this.#ended) return false;
    return (await this.#isAsStored()) && (await this.#holds()) && !this.#ended;
  }

  /** Whether the configuration is there, and is the one that is known. */
  async #isAsStored(): Promise<boolean> {
    const stored = await this.#answered(() => this.#context.storage.pushConfig(this.#claim.taskId, this.#configId));
    if (stored === undefined) this.#end();
    else this.refresh(stored);
    return stored !== undefined && !this.#stale;
  }

  /** Whether the claim is still held: by the clock, else by the store, which is waited for. */
  async #holds(): Promise<boolean> {
    while (!this.#claim.isHeld && !this.#ended) {
      const asked = performance.now();
      const [held] = await this.#answered(() => this.#context.storage.holdDeliveries([this.#claim]));
      if (held === true) this.#claim.prolonged(asked);
      else if (held === false) this.#end();
      else await pause(AWAY_MS, this.#stop.signal);
    }
    return !this.#ended;
  }

  async #acknowledge(at: Position, ends: boolean): Promise<void> {
    this.#failures = 0;
    this.#tried = undefined;
    this.#cursor = { offset: at.offset, mark: at.mark };
    this.#seen = at.offset;
    await this.#report(ends ? "done" : "active", "");
  }

  async #park(cause: string): Promise<void> {
    const { taskId } = this.#claim;
    if (!(await this.#recorded("parked", cause))) return;
    this.#context.measures.parked();
    const config = this.#config();
    const host = config && new URL(config.url).host;
    this.#context.log.warn({ taskId, configId: this.#configId, host, cause, failures: this.#failures }, "a webhook is parked");
  }

  async #report(is: DeliveryState, cause: string, retryInMs = 0): Promise<void> {
    await this.#recorded(is, cause, retryInMs);
  }

  /** Reports; false where the configuration is gone, or the claim is another replica's. */
  async #recorded(is: DeliveryState, cause: string, retryInMs = 0): Promise<boolean> {
    this.#passed = { entries: 0, bytes: 0 };
    const report = { configId: this.#configId, is, acknowledged: this.#cursor, failures: this.#failures, cause, retryInMs };
    const reply = await this.#answered(() => this.#context.storage.reportDelivery(this.#claim, report));
    if (reply !== "recorded" || is !== "active") this.#end();
    return reply === "recorded";
  }

  #end(): void {
    this.#over = true;
    this.#stop.abort();
  }

  /** A store that is away is waited for. */
  #answered<T>(step: () => Promise<T>): Promise<T> {
    return untilAnswered(step, () => this.#kill.signal.aborted);
  }
}
