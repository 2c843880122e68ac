/** The store that all replicas share: one ordered log per task, in Redis Streams. */
import type { Delivery, DeliveryClaim, DeliveryReport, LetGo, ReportReply } from "../../core/deliveries.ts";
import type { Entry, Position } from "../../core/log-entry.ts";
import type { PushConfigRequest, StoredPushConfig } from "../../core/push-configs.ts";
import type { Quota, Spent } from "../../core/quotas.ts";
import type { Scope } from "../../core/scope.ts";
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
} from "../../core/storage.ts";
import { isAway, taskNotFound } from "../../core/errors.ts";
import { untilAnswered } from "../../core/retrying.ts";
import { type Measures, UNMEASURED } from "../../core/telemetry.ts";
import { uuidv7 } from "../../core/uuid.ts";
import { Checkpoints } from "./checkpoints.ts";
import { Claim } from "./claim.ts";
import { Visibility } from "./visibility.ts";
import { Connections, StoreSetupError } from "./connection/connections.ts";
import { RedisContext } from "./context.ts";
import { Ears } from "./ears.ts";
import { Healer } from "./healer.ts";
import { ShardKeys, shardFor, withShard } from "./keys.ts";
import { Leases } from "./leases.ts";
import { RedisDeliveries } from "./redis-deliveries.ts";
import { RedisQuotas } from "./redis-quotas.ts";
import { RedisPushConfigs } from "./push-configs.ts";
import { RedisTail } from "./redis-tail.ts";
import { list, text } from "./replies.ts";
import { SCRIPTS } from "./scripts.ts";
import { Sends } from "./sends.ts";
import { REDIS_DEFAULTS, type RedisStorageInit, type RedisStorageOptions } from "./storage-options.ts";
import { Sweeper } from "./sweeper.ts";
import { Tailer } from "./tailer.ts";
import { Takes } from "./takes.ts";
import { TaskIndex } from "./task-index.ts";
import { TaskLog } from "./task-log.ts";

/** What the store tells besides. */
export interface RedisStorageFacts {
  /** Name of the agent: a Redis that serves another one under this prefix is refused. */
  readonly agent: string;
  /** Told of what an operator should know. */
  readonly warn: (message: string) => void;
  /** Default: nothing is measured. */
  readonly measures?: Measures;
}

/** How long a start waits for a Redis that is away for a moment. */
const START_MS = 5000;

/** Keeps every log in Redis. */
export class RedisStorage implements Storage {
  readonly shared: boolean = true;
  readonly #context: RedisContext;
  readonly #log: TaskLog;
  readonly #sends: Sends;
  readonly #leases: Leases;
  readonly #takes: Takes;
  readonly #sweeper: Sweeper;
  readonly #index: TaskIndex;
  readonly #checkpoints: Checkpoints;
  readonly #push: RedisPushConfigs;
  readonly #deliveries: RedisDeliveries;
  readonly #healer: Healer;
  readonly #quotas: RedisQuotas;
  readonly #tailer: Tailer;
  readonly #ears: Ears;
  readonly #claim: Claim;

  private constructor(context: RedisContext, agent: string) {
    const visibility = new Visibility(context);
    this.#context = context;
    this.#quotas = new RedisQuotas(context);
    this.#log = new TaskLog(context, visibility);
    this.#deliveries = new RedisDeliveries(context);
    this.#sends = new Sends(context, { log: this.#log, visibility, deliveries: this.#deliveries });
    this.#takes = new Takes(context, this.#log);
    this.#leases = new Leases(context, this.#takes);
    this.#sweeper = new Sweeper(context, { leases: this.#leases, takes: this.#takes, log: this.#log, deliveries: this.#deliveries });
    this.#index = new TaskIndex(context);
    this.#checkpoints = new Checkpoints(context);
    this.#push = new RedisPushConfigs(context, visibility, this.#deliveries);
    this.#healer = new Healer(context, this.#log, visibility);
    this.#tailer = new Tailer(context, this.#log);
    this.#ears = new Ears(context, this.#takes, this.#tailer);
    this.#claim = new Claim(context, agent);
    this.#ears.onBack = () => void this.#claim.renew();
    this.#log.onDue = (shard, taskId) => this.#deliveries.heard(shard, taskId, "1");
    this.#deliveries.onDue = (taskId) => this.#ears.tell({ is: "deliveries", taskId });
    this.#log.onAppended = (taskId, before, entries, sealed) => this.#tailer.appended(taskId, before, entries, sealed);
  }

  /** Connects and checks that this Redis can be used. Throws StoreSetupError with a message for an operator. */
  static async open(init: RedisStorageInit, facts: RedisStorageFacts): Promise<RedisStorage> {
    const options: RedisStorageOptions = { ...REDIS_DEFAULTS, ...init };
    const shardTag = (shard: number): string => new ShardKeys(options.prefix, shard).tag;
    const { agent, warn, measures = UNMEASURED } = facts;
    const connections = await Connections.open(options, { agent, warn, shardTag, onAgain: () => measures.reconnected() });
    try {
      await checkRights(connections, new ShardKeys(options.prefix, 0));
    } catch (error) {
      await connections.close();
      throw isAway(error) ? new StoreSetupError("redis.url: this Redis takes no writes now", { cause: error }) : error;
    }
    return new RedisStorage(new RedisContext(options, connections, warn), agent);
  }

  newId(repeatKey: string): string {
    return withShard(uuidv7(Date.now()), shardFor(repeatKey, this.#context.options.shards));
  }

  findRepeat(key: RepeatKey): Promise<Repeat | undefined> {
    return this.#sends.findRepeat(key);
  }

  async create(request: CreateRequest): Promise<CreateReply> {
    const reply = await this.#sends.create(request);
    if (reply.is !== "created") return reply;
    const last = reply.entries.at(-1);
    const shard = this.#context.of(request.id)?.shard;
    if (reply.lease === undefined) this.#ears.noteWaiting(request.id);
    else if (last !== undefined && shard !== undefined) this.#tailer.began(request.id, shard, last);
    return reply;
  }

  append(lease: Lease, batch: Batch): Promise<readonly Entry[]> {
    return this.#log.append(lease, batch);
  }

  async command(request: CommandRequest): Promise<CommandReply> {
    const reply = await this.#sends.command(request);
    if (reply.is === "appended" && reply.lease === undefined && !reply.owned) this.#ears.noteWaiting(request.taskId);
    return reply;
  }

  meta(taskId: string): Promise<TaskMeta | undefined> {
    return this.#log.meta(taskId);
  }

  checkpointOf(taskId: string): Promise<StoredCheckpoint | undefined> {
    return this.#checkpoints.read(taskId);
  }

  read(taskId: string, after: Position): Promise<TailStep> {
    return this.#log.read(taskId, after);
  }

  tail(taskId: string, after: Position, signal: AbortSignal): AsyncIterableIterator<TailStep> {
    const shard = this.#context.of(taskId)?.shard;
    if (shard === undefined) return missing(taskId);
    return new RedisTail({ log: this.#log, tailer: this.#tailer }, { id: taskId, shard }, after, signal);
  }

  take(request: LeaseRequest, limit: number): Promise<readonly Taken[]> {
    return this.#takes.take(request, limit);
  }

  renew(renewals: readonly Renewal[]): Promise<readonly RenewReply[]> {
    return this.#leases.renew(renewals);
  }

  async release(lease: Lease, to: "rest" | "ready", consumed: number): Promise<void> {
    await this.#leases.release(lease, to, consumed);
    this.#tailer.released(lease.taskId);
  }

  heal(lease: Lease, remains: Remains): Promise<HealReply> {
    return this.#healer.heal(lease, remains);
  }

  checkpoint(taskId: string, lease: Lease | undefined, checkpoint: StoredCheckpoint): Promise<void> {
    return this.#checkpoints.write(taskId, lease, checkpoint);
  }

  setPushConfig(taskId: string, config: PushConfigRequest): Promise<void> {
    return this.#push.setPushConfig(taskId, config);
  }

  pushConfig(taskId: string, id: string): Promise<StoredPushConfig | undefined> {
    return this.#push.pushConfig(taskId, id);
  }

  pushConfigs(taskId: string): Promise<readonly StoredPushConfig[]> {
    return this.#push.pushConfigs(taskId);
  }

  deletePushConfig(taskId: string, id: string): Promise<void> {
    return this.#push.deletePushConfig(taskId, id);
  }

  claimDeliveries(token: string, limit: number): Promise<readonly DeliveryClaim[]> {
    return this.#deliveries.claimDeliveries(token, limit);
  }

  deliveriesOf(taskId: string): Promise<readonly Delivery[]> {
    return this.#deliveries.deliveriesOf(taskId);
  }

  holdDeliveries(claims: readonly DeliveryClaim[]): Promise<readonly (boolean | undefined)[]> {
    return this.#deliveries.holdDeliveries(claims);
  }

  reportDelivery(claim: DeliveryClaim, report: DeliveryReport): Promise<ReportReply> {
    return this.#deliveries.reportDelivery(claim, report);
  }

  letGo(claim: DeliveryClaim, how: LetGo): Promise<boolean> {
    return this.#deliveries.letGo(claim, how);
  }

  list(scope: Scope, filter: ListFilter, after: ListCursor | undefined, limit: number): Promise<ListPage> {
    return this.#index.page(scope, filter, after, limit);
  }

  spend(key: string, quota: Quota, most: number): Promise<Spent> {
    return this.#quotas.spend(key, quota, most);
  }

  sweep(): Promise<Swept> {
    return this.#sweeper.sweep();
  }

  listen(replica: string, hear: (hint: Hint) => void): Listening {
    return this.#ears.listen(replica, hear);
  }

  available(): boolean {
    return this.#context.connections.available() && !this.#claim.lost;
  }

  async close(): Promise<void> {
    this.#tailer.close();
    await this.#context.connections.close();
  }
}

/** Throws StoreSetupError where the ACL user may not use a command that the store needs. */
async function checkRights(connections: Connections, keys: ShardKeys): Promise<void> {
  const args = [connections.publishCommand, keys.wake];
  const deadline = performance.now() + START_MS;
  // A slot may be moving, a master changing.
  const reply = await untilAnswered(
    () => connections.write(0, SCRIPTS.probe, keys.probes, args),
    () => performance.now() > deadline,
  );
  const refused = list(reply).map(text);
  if (refused.length === 0) return;
  const grants = refused.map((name) => `+${name}`).join(" ");
  throw new StoreSetupError(`redis.url: the ACL user may not use all commands that the store needs; grant ${grants}`);
}

/** The tail of an id that this store cannot have made. */
// oxlint-disable-next-line require-yield -- it only ever throws
async function* missing(taskId: string): AsyncGenerator<TailStep> {
  throw taskNotFound(taskId);
}
