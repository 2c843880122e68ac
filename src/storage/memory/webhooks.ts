/** Webhooks of the memory store: configurations beside their tasks, and deliveries. */
import type { Deliveries, Delivery, DeliveryClaim, DeliveryReport, LetGo, ReportReply } from "../../core/deliveries.ts";
import { taskNotFound } from "../../core/errors.ts";
import type { Position } from "../../core/log-entry.ts";
import type { PushConfigRequest, PushConfigs, StoredPushConfig } from "../../core/push-configs.ts";
import type { MemoryDeliveries } from "./deliveries.ts";
import type { Retention } from "./retention.ts";
import type { TaskRecord } from "./task-record.ts";

/** The part of the store that knows of webhooks. */
export class MemoryWebhooks implements PushConfigs, Deliveries {
  protected readonly tasks: Map<string, TaskRecord> = new Map();
  protected readonly retention: Retention;
  protected readonly deliveries: MemoryDeliveries;

  constructor(retention: Retention, deliveries: MemoryDeliveries) {
    this.retention = retention;
    this.deliveries = deliveries;
  }

  async setPushConfig(taskId: string, config: PushConfigRequest): Promise<void> {
    const task = this.found(taskId);
    task.checkPushConfig(config);
    this.keep(task, config, task.position);
  }

  async pushConfig(taskId: string, id: string): Promise<StoredPushConfig | undefined> {
    return this.tasks.get(taskId)?.pushConfig(id);
  }

  async pushConfigs(taskId: string): Promise<readonly StoredPushConfig[]> {
    return this.tasks.get(taskId)?.pushConfigs ?? [];
  }

  async deletePushConfig(taskId: string, id: string): Promise<void> {
    const task = this.tasks.get(taskId);
    if (task === undefined) return;
    this.retention.account(task, () => task.deletePushConfig(id));
    this.deliveries.detach(task, id);
  }

  async claimDeliveries(token: string, limit: number): Promise<readonly DeliveryClaim[]> {
    return this.deliveries.claim(token, limit);
  }

  async deliveriesOf(taskId: string): Promise<readonly Delivery[]> {
    const task = this.tasks.get(taskId);
    return task === undefined ? [] : this.deliveries.of(task);
  }

  async holdDeliveries(claims: readonly DeliveryClaim[]): Promise<readonly boolean[]> {
    return claims.map(({ taskId, token }) => this.deliveries.hold(this.tasks.get(taskId), token));
  }

  async reportDelivery({ taskId, token }: DeliveryClaim, report: DeliveryReport): Promise<ReportReply> {
    return this.deliveries.report(this.tasks.get(taskId), token, report);
  }

  async letGo({ taskId, token }: DeliveryClaim, how: LetGo): Promise<boolean> {
    return this.deliveries.letGo(this.tasks.get(taskId), token, how);
  }

  /** Stores a configuration; its webhook gets what comes after the position. */
  protected keep(task: TaskRecord, config: StoredPushConfig, after: Position): void {
    this.retention.account(task, () => task.setPushConfig(config));
    this.deliveries.attach(task, config.id, after);
  }

  /** Throws TASK_NOT_FOUND. */
  protected found(taskId: string): TaskRecord {
    const task = this.tasks.get(taskId);
    if (task === undefined) throw taskNotFound(taskId);
    return task;
  }
}
