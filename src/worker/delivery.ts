/** One webhook as a reader of its task's log: in order, at least once, from where it stands. */
import { create } from "@bufbuild/protobuf";
import { type StreamResponse, StreamResponseSchema, type TaskPushNotificationConfig } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Delivery, DeliveryClaim, DeliveryState } from "../core/deliveries.ts";
import { TaskError } from "../core/errors.ts";
import { formatPosition, type Position } from "../core/log-entry.ts";
import { pause } from "../core/pause.ts";
import { untilAnswered } from "../core/retrying.ts";
import type { Snapshots } from "../core/snapshots.ts";
import type { Storage, TailStep } from "../core/storage.ts";
import { isTerminal, stateAfter } from "../core/task.ts";
import type { Log } from "../core/telemetry.ts";
import { coalesced, oneByOne } from "./coalesce.ts";
import type { DeliveryOptions } from "./delivery-options.ts";
import type { Posted, WebhookPoster } from "./webhook-poster.ts";
import { webhookRequest } from "./webhook-request.ts";

/** What all deliveries of a replica share. */
export interface DeliveryContext {
  readonly storage: Storage;
  readonly snapshots: Snapshots;
  readonly poster: WebhookPoster;
  readonly options: DeliveryOptions;
  readonly log: Log;
  /** Reads a configuration as it is stored. */
  readonly decode: (taskId: string, config: Delivery["config"]) => TaskPushNotificationConfig;
  /** Signs a notification; undefined where none is signed. */
  readonly sign: ((facts: { readonly url: URL; readonly taskId: string; readonly eventId: string }) => Promise<string>) | undefined;
}

/** Delivers to one webhook under a claim. */
export class WebhookDelivery {
  readonly #context: DeliveryContext;
  readonly #claim: DeliveryClaim;
  readonly #configId: string;
  /** Nothing more is begun. */
  readonly #stop = new AbortController();
  /** A request under way is ended too, and a store that is away is not waited for. */
  readonly #kill = new AbortController();
  #stored: Delivery["config"];
  #config: TaskPushNotificationConfig;
  #cursor: Position;
  #failures: number;
  /** The last entry that was looked at. */
  #seen: number;
  #waitUntil = 0;
  #busy = true;
  #over = false;

  constructor(context: DeliveryContext, claim: DeliveryClaim, delivery: Delivery) {
    this.#context = context;
    this.#claim = claim;
    this.#configId = delivery.config.id;
    this.#stored = delivery.config;
    this.#config = context.decode(claim.taskId, delivery.config);
    this.#cursor = delivery.acknowledged;
    this.#seen = delivery.acknowledged.offset;
    this.#failures = delivery.failures;
    if (delivery.waitMs > 0) this.#waitUntil = performance.now() + delivery.waitMs;
  }

  /** There is nothing more to do under this claim. */
  get over(): boolean {
    return this.#over;
  }

  /** Offset of the last entry that it has dealt with, where it waits for more; undefined where it has something to do or to wait out. */
  get idleAt(): number | undefined {
    return this.#busy || this.waitsMs > 0 ? undefined : this.#seen;
  }

  /** How long it still waits before its next attempt; 0 where it does not. */
  get waitsMs(): number {
    return Math.max(0, this.#waitUntil - performance.now());
  }

  /** The configuration was written again. */
  refresh(stored: Delivery["config"]): void {
    if (Buffer.compare(stored.bytes, this.#stored.bytes) === 0) return;
    this.#stored = stored;
    this.#config = this.#context.decode(this.#claim.taskId, stored);
  }

  /** Delivers until the task's end is acknowledged, the webhook is parked or gone, or it is stopped. Never rejects. */
  async run(): Promise<void> {
    const { log } = this.#context;
    try {
      await this.#waitOut();
      while (!this.#ended) await this.#read();
    } catch (error) {
      const expected = this.#kill.signal.aborted || (error instanceof TaskError && error.reason === "TASK_NOT_FOUND");
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

  /** Follows the log until it ends, or the place is not kept any more. */
  async #read(): Promise<void> {
    const { storage } = this.#context;
    this.#busy = false;
    for await (const step of storage.tail(this.#claim.taskId, this.#cursor, this.#stop.signal)) {
      this.#busy = true;
      if (this.#ended) return;
      if (step.is === "gone") return this.#behind();
      await this.#page(step);
      if (this.#ended) return;
      this.#busy = false;
    }
    // The log is sealed, and all of it is acknowledged.
    if (!this.#ended) await this.#report("done", "");
  }

  async #page({ entries }: TailStep & { readonly is: "entries" }): Promise<void> {
    const { events, coalesce } = this.#context.options;
    const wanted = events === "all" ? entries : entries.filter((entry) => entry.kind !== "event" || stateAfter(entry.event) !== undefined);
    for (const outgoing of coalesce ? coalesced(wanted) : oneByOne(wanted)) {
      const { last } = outgoing;
      if (!(await this.#deliver(outgoing.event, last))) return;
      const state = stateAfter(outgoing.event);
      await this.#acknowledge(last, state !== undefined && isTerminal(state));
      if (this.#ended) return;
    }
    const last = entries.at(-1);
    if (last === undefined) return;
    // Commands, and what it does not want, it need not acknowledge.
    this.#cursor = { offset: last.offset, mark: last.mark };
    this.#seen = last.offset;
  }

  /** Its place is not kept: it is too far behind, or what it stood on was lost in a failover. */
  async #behind(): Promise<void> {
    const current = await this.#answered(() => this.#context.snapshots.current(this.#claim.taskId));
    if (current === undefined) return this.#end();
    if (current.meta.firstOffset > this.#cursor.offset + 1) return this.#park("it is too far behind its task");
    // C-35: the task as it is now stands for all that came before.
    const { task, position } = current.snapshot;
    const event = create(StreamResponseSchema, { payload: { case: "task", value: task } });
    if (await this.#deliver(event, position)) await this.#acknowledge(position, isTerminal(current.meta.state));
    return undefined;
  }

  /** Tries until it is acknowledged: true. False where there is no more to try. */
  async #deliver(event: StreamResponse, at: Position): Promise<boolean> {
    const { poster, sign } = this.#context;
    const { taskId } = this.#claim;
    const eventId = `${taskId}/${formatPosition(at)}`;
    while (!this.#ended) {
      const url = new URL(this.#config.url);
      const signature = await sign?.({ url, taskId, eventId });
      const request = webhookRequest(this.#config, event, { eventId, now: Date.now(), signature });
      const posted = await poster.post(request, this.#kill.signal, () => this.#wanted());
      if (posted.is === "delivered") {
        this.#failures = 0;
        return true;
      }
      if (posted.is !== "withheld") await this.#failed(posted);
    }
    return false;
  }

  async #failed(posted: Exclude<Posted, { is: "delivered" | "withheld" }>): Promise<void> {
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
    await this.#report("active", posted.cause, waitMs);
    return this.#waitOut();
  }

  /** Twice as long each time, between half of it and the whole. */
  #backoffMs(): number {
    const { retryBaseMs, retryMaxMs } = this.#context.options;
    const whole = Math.min(retryBaseMs * 2 ** Math.min(this.#failures - 1, 30), retryMaxMs);
    return whole / 2 + (Math.random() * whole) / 2;
  }

  async #waitOut(): Promise<void> {
    await pause(this.waitsMs, this.#stop.signal);
    this.#waitUntil = 0;
  }

  /** Whether the request is to be made: after a deletion at most the one under way arrives. The configuration may have been written again. */
  async #wanted(): Promise<boolean> {
    if (this.#ended) return false;
    const stored = await this.#answered(() => this.#context.storage.pushConfig(this.#claim.taskId, this.#configId));
    if (stored === undefined) this.#end();
    else this.refresh(stored);
    return !this.#ended;
  }

  async #acknowledge(at: Position, ends: boolean): Promise<void> {
    this.#cursor = { offset: at.offset, mark: at.mark };
    this.#seen = at.offset;
    await this.#report(ends ? "done" : "active", "");
  }

  async #park(cause: string): Promise<void> {
    const { taskId } = this.#claim;
    await this.#report("parked", cause);
    const { host } = new URL(this.#config.url);
    this.#context.log.warn({ taskId, configId: this.#configId, host, cause, failures: this.#failures }, "a webhook is parked");
  }

  async #report(is: DeliveryState, cause: string, retryInMs = 0): Promise<void> {
    const report = { configId: this.#configId, is, acknowledged: this.#cursor, failures: this.#failures, cause, retryInMs };
    const reply = await this.#answered(() => this.#context.storage.reportDelivery(this.#claim, report));
    if (reply !== "recorded" || is !== "active") this.#end();
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
