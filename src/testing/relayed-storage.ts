/** A store in front of another one: what a subclass does not change goes through as it is. */
import type { Delivery, DeliveryClaim, DeliveryReport, LetGo, ReportReply } from "../core/deliveries.ts";
import type { Entry, Position } from "../core/log-entry.ts";
import type { PushConfigRequest, StoredPushConfig } from "../core/push-configs.ts";
import type { Quota, Spent } from "../core/quotas.ts";
import type { Scope } from "../core/scope.ts";
import type {
  Batch,
  CommandReply,
  CommandRequest,
  CreateReply,
  CreateRequest,
  HealReply,
  Hint,
  Lease,
  LeaseRequest,
  ListCursor,
  ListFilter,
  ListPage,
  Listening,
  Remains,
  Renewal,
  RenewReply,
  Repeat,
  RepeatKey,
  Storage,
  StoredCheckpoint,
  Swept,
  Taken,
  TailStep,
  TaskMeta,
} from "../core/storage.ts";

/** Passes every call on. */
export class RelayedStorage implements Storage {
  readonly shared: boolean;
  readonly #inner: Storage;

  constructor(inner: Storage) {
    this.#inner = inner;
    this.shared = inner.shared;
  }

  newId(repeatKey: string): string {
    return this.#inner.newId(repeatKey);
  }

  findRepeat(key: RepeatKey): Promise<Repeat | undefined> {
    return this.#inner.findRepeat(key);
  }

  create(request: CreateRequest): Promise<CreateReply> {
    return this.#inner.create(request);
  }

  append(lease: Lease, batch: Batch): Promise<readonly Entry[]> {
    return this.#inner.append(lease, batch);
  }

  command(request: CommandRequest): Promise<CommandReply> {
    return this.#inner.command(request);
  }

  meta(taskId: string): Promise<TaskMeta | undefined> {
    return this.#inner.meta(taskId);
  }

  checkpointOf(taskId: string): Promise<StoredCheckpoint | undefined> {
    return this.#inner.checkpointOf(taskId);
  }

  read(taskId: string, after: Position): Promise<TailStep> {
    return this.#inner.read(taskId, after);
  }

  tail(taskId: string, after: Position, signal: AbortSignal): AsyncIterableIterator<TailStep> {
    return this.#inner.tail(taskId, after, signal);
  }

  take(request: LeaseRequest, limit: number): Promise<readonly Taken[]> {
    return this.#inner.take(request, limit);
  }

  renew(renewals: readonly Renewal[]): Promise<readonly RenewReply[]> {
    return this.#inner.renew(renewals);
  }

  release(lease: Lease, to: "rest" | "ready", consumed: number): Promise<void> {
    return this.#inner.release(lease, to, consumed);
  }

  heal(lease: Lease, remains: Remains): Promise<HealReply> {
    return this.#inner.heal(lease, remains);
  }

  checkpoint(taskId: string, lease: Lease | undefined, checkpoint: StoredCheckpoint): Promise<void> {
    return this.#inner.checkpoint(taskId, lease, checkpoint);
  }

  setPushConfig(taskId: string, config: PushConfigRequest): Promise<void> {
    return this.#inner.setPushConfig(taskId, config);
  }

  pushConfig(taskId: string, id: string): Promise<StoredPushConfig | undefined> {
    return this.#inner.pushConfig(taskId, id);
  }

  pushConfigs(taskId: string): Promise<readonly StoredPushConfig[]> {
    return this.#inner.pushConfigs(taskId);
  }

  deletePushConfig(taskId: string, id: string): Promise<void> {
    return this.#inner.deletePushConfig(taskId, id);
  }

  claimDeliveries(token: string, limit: number): Promise<readonly DeliveryClaim[]> {
    return this.#inner.claimDeliveries(token, limit);
  }

  deliveriesOf(taskId: string): Promise<readonly Delivery[]> {
    return this.#inner.deliveriesOf(taskId);
  }

  holdDeliveries(claims: readonly DeliveryClaim[]): Promise<readonly (boolean | undefined)[]> {
    return this.#inner.holdDeliveries(claims);
  }

  reportDelivery(claim: DeliveryClaim, report: DeliveryReport): Promise<ReportReply> {
    return this.#inner.reportDelivery(claim, report);
  }

  letGo(claim: DeliveryClaim, how: LetGo): Promise<boolean> {
    return this.#inner.letGo(claim, how);
  }

  spend(key: string, quota: Quota, most: number): Promise<Spent> {
    return this.#inner.spend(key, quota, most);
  }

  list(scope: Scope, filter: ListFilter, after: ListCursor | undefined, limit: number): Promise<ListPage> {
    return this.#inner.list(scope, filter, after, limit);
  }

  sweep(): Promise<Swept> {
    return this.#inner.sweep();
  }

  listen(replica: string, hear: (hint: Hint) => void): Listening {
    return this.#inner.listen(replica, hear);
  }

  available(): boolean {
    return this.#inner.available();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}
