/**
 * Deliveries to webhooks: the part of the store's port by which replicas share them. Each push configuration of a task has a durable cursor
 * into its log. A replica claims the deliveries of a task for a time; what it reports needs the claim.
 */
import type { Position } from "./log-entry.ts";
import type { StoredPushConfig } from "./push-configs.ts";

/** `active`: more may come. `done`: the terminal event is acknowledged. `parked`: given up; to register the webhook again resumes it. */
export type DeliveryState = "active" | "done" | "parked";

/** How far a webhook is. */
interface DeliveryProgress {
  readonly is: DeliveryState;
  /** Up to here it has acknowledged: the next entry after it is the next one to go. Never goes back. */
  readonly acknowledged: Position;
  /** Failures since the last acknowledgement. */
  readonly failures: number;
  /** What failed last, or why it is parked; empty where nothing did. */
  readonly cause: string;
}

/** A push configuration and how far its webhook is. */
export interface Delivery extends DeliveryProgress {
  readonly config: StoredPushConfig;
  /** How long the next attempt is to wait, in milliseconds from now; 0 where it is due. */
  readonly waitMs: number;
}

/** A replica's time-limited right to deliver for a task. */
export interface DeliveryClaim {
  readonly taskId: string;
  /** Random, drawn before the first attempt to claim. */
  readonly token: string;
}

/** What a replica reports of a webhook. */
export interface DeliveryReport extends DeliveryProgress {
  readonly configId: string;
  /** How long the next attempt is to wait; 0 for none. */
  readonly retryInMs: number;
}

/** `recorded`: it stands. `gone`: the configuration is deleted. `lost`: the claim is another replica's by now; nothing was recorded. */
export type ReportReply = "recorded" | "gone" | "lost";

/** How a claim ends. */
export interface LetGo {
  /** Active webhooks that the claimer accounts for: where there are more, it has not heard of one. Infinity: whatever there is. */
  readonly webhooks: number;
  /** Offset of the last entry that the claimer has looked at, for every webhook that waits for more; Infinity where none does. */
  readonly seen: number;
  /** When somebody is to look again, in milliseconds from now; undefined: when there is something new. */
  readonly againInMs: number | undefined;
}

/** Leads the deliveries of all tasks. */
export interface Deliveries {
  /**
   * Claims the deliveries of tasks that have something to send and that nobody has claimed, or whose claim has run out, for as long as a
   * lease lasts. The same token may be given to several claims; a reply that is lost costs the time of a claim.
   */
  claimDeliveries(token: string, limit: number): Promise<readonly DeliveryClaim[]>;
  /** What there is to deliver under a claim: every configuration of the task, by id. Empty where the task is gone. */
  deliveriesOf(taskId: string): Promise<readonly Delivery[]>;
  /** Prolongs claims. Answers in the order given whether they are still held; `undefined`: that part of the store is away. */
  holdDeliveries(claims: readonly DeliveryClaim[]): Promise<readonly (boolean | undefined)[]>;
  /** Records what became of a delivery. A position before the one that stands changes nothing of it. */
  reportDelivery(claim: DeliveryClaim, report: DeliveryReport): Promise<ReportReply>;
  /** Ends a claim. False where entries came after `seen`, or webhooks: the claim stays, and there is more to do. A claim that is lost has ended. */
  letGo(claim: DeliveryClaim, how: LetGo): Promise<boolean>;
}
