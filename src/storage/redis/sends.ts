/** What callers write: new tasks and commands. */
import { TaskError, taskNotFound } from "../../core/errors.ts";
import { Entry } from "../../core/log-entry.ts";
import type { CommandReply, CommandRequest, CreateReply, CreateRequest, Repeat, RepeatKey } from "../../core/storage.ts";
import { isInterrupted, isTerminal } from "../../core/task.ts";
import type { Visibility } from "./visibility.ts";
import type { Arg, Reply } from "./connection/reply.ts";
import { kindOfState, type RedisContext, type TaskFacts } from "./context.ts";
import type { ShardKeys } from "./keys.ts";
import type { RedisDeliveries } from "./redis-deliveries.ts";
import { accepted, state, text } from "./replies.ts";
import { SCRIPTS } from "./scripts.ts";
import { entryArgs, headArgs, type TaskLog } from "./task-log.ts";

/** What sends go through. */
interface SendsParts {
  readonly log: TaskLog;
  readonly visibility: Visibility;
  readonly deliveries: RedisDeliveries;
}

/** Creates and commands. */
export class Sends {
  readonly #context: RedisContext;
  readonly #log: TaskLog;
  readonly #visibility: Visibility;
  readonly #deliveries: RedisDeliveries;

  constructor(context: RedisContext, { log, visibility, deliveries }: SendsParts) {
    this.#context = context;
    this.#log = log;
    this.#visibility = visibility;
    this.#deliveries = deliveries;
  }

  /** The first send of this key. */
  async findRepeat(repeat: RepeatKey): Promise<Repeat | undefined> {
    const { connections } = this.#context;
    const keys = this.#context.ofRepeat(repeat);
    const [row, time] = await this.#context.retry(keys.shard, () =>
      connections.many(keys.shard, [["GET", keys.repeat(repeat.key)], ["TIME"]]),
    );
    if (row === null) return undefined;
    const [taskId = "", offset, at] = text(row).split(" ");
    const [seconds, micros] = (time as readonly Reply[]).map(Number);
    const now = (seconds ?? 0) * 1000 + Math.floor((micros ?? 0) / 1000);
    const meta = await this.#log.meta(taskId);
    if (meta === undefined) return undefined;
    const joins = repeat.mode === "window" ? now - Number(at) < repeat.windowMs : !isTerminal(meta.state) && !isInterrupted(meta.state);
    return joins ? { taskId, offset: Number(offset) } : undefined;
  }

  /** Task, entries, index rows, dedupe row and lease, or the first task of a repeated send. */
  async create(request: CreateRequest): Promise<CreateReply> {
    const { id, lease } = request;
    const keys = this.#context.of(id);
    if (keys === undefined) throw new TaskError("INTERNAL", "an id that newId did not make");
    let declared = "";
    for (;;) {
      const first = declared;
      const writer = this.#visibility.epoch(keys.shard);
      const reply = await this.#context.retry(keys.shard, () => this.#create(keys, request, first));
      const [word, one = "", two = "", due] = accepted(reply, id);
      if (word === "RETRY") {
        declared = one;
        continue;
      }
      if (word === "REPEAT") {
        await this.#settled(keys, one);
        return { is: "repeat", repeat: { taskId: one, offset: Number(two) } };
      }
      this.#context.learn({ id, scope: request.scope, contextId: request.contextId, state: request.head.state });
      const place = { epoch: Number(one), time: Number(two) };
      const entries = request.entries.map((entry, index) => new Entry({ ...place, offset: index + 1 }, entry));
      const last = entries.at(-1);
      if (last !== undefined) {
        await this.#visibility.confirm({ shard: keys.shard, taskId: id, last, epoch: word === "AGAIN" ? undefined : writer });
      }
      this.#deliveries.heard(keys.shard, id, due);
      return { is: "created", entries, lease: lease && { taskId: id, epoch: place.epoch, token: lease.token } };
    }
  }

  #create(keys: ShardKeys, request: CreateRequest, declared: string): Promise<Reply> {
    const { id, scope, contextId, head, repeat, lease, push } = request;
    const { options, connections } = this.#context;
    const kind = kindOfState(head.state);
    const none = keys.task(id);
    const names = [none, keys.log(id), keys.leases, keys.ready, keys.end];
    for (const shown of [undefined, head.state]) {
      for (const context of [undefined, contextId]) names.push(keys.index(scope, { contextId: context, state: shown }));
    }
    names.push(repeat === undefined ? none : keys.repeat(repeat.key), declared === "" ? none : keys.task(declared), keys.due);
    if (push !== undefined) names.push(keys.pushConfigs(id), keys.progress(id));
    const args: Arg[] = [id, scope.tenant, scope.owner, contextId, ...headArgs(head, id), this.#context.retentionOf(kind)];
    args.push(lease?.token ?? "", lease?.replica ?? "", options.leaseMs, repeat?.mode ?? "", repeat?.windowMs ?? 0, declared);
    args.push(repeat?.key ?? "", connections.publishCommand, keys.wake, connections.durable ? 1 : 0, ...entryArgs(request.entries));
    if (push !== undefined) args.push("p", push.id, push.bytes);
    return connections.write(keys.shard, SCRIPTS.create, names, args);
  }

  /** A message or a cancel request. */
  async command(request: CommandRequest): Promise<CommandReply> {
    const { taskId } = request;
    const keys = this.#context.of(taskId);
    const facts = keys && (await this.#log.facts(taskId));
    if (keys === undefined || facts === undefined) throw taskNotFound(taskId);
    for (;;) {
      const reply = await this.#context.retry(keys.shard, () => this.#command(keys, facts, request));
      const [word, one = "", owned, epoch, token = "", due] = accepted(reply, taskId);
      if (word === "RETRY") {
        facts.state = state(one);
        continue;
      }
      if (word === "REPEAT") {
        await this.#settled(keys, taskId);
        return { is: "repeat", repeat: { taskId, offset: Number(one) } };
      }
      const offset = Number(one);
      // A cancel is followed by CANCELED where nobody owned the task.
      const marks = [request.entry.mark, ...(request.canceled === undefined ? [] : [request.canceled.entry.mark])];
      await this.#visibility.settleWrite(keys.shard, taskId, offset, marks);
      this.#deliveries.heard(keys.shard, taskId, due);
      const lease = token === "" ? undefined : { taskId, epoch: Number(epoch), token };
      return { is: "appended", offset, lease, owned: owned === "1" };
    }
  }

  #command(keys: ShardKeys, facts: TaskFacts, request: CommandRequest): Promise<Reply> {
    const { taskId, what, entry, repeat, after, lease, push } = request;
    const { options, connections } = this.#context;
    const ready = what === "message" ? request.working : request.canceled;
    const names = [keys.task(taskId), keys.log(taskId), keys.leases, keys.ready, keys.end];
    names.push(repeat === undefined ? keys.task(taskId) : keys.repeat(repeat.key), keys.followUps(taskId), keys.due);
    if (ready !== undefined) names.push(...this.#context.indexKeys(keys, facts, ready.head.state));
    if (push !== undefined) names.push(keys.pushConfigs(taskId), keys.progress(taskId));
    const args: Arg[] = [taskId, what, entry.mark, entry.bytes, repeat?.mode ?? "", repeat?.windowMs ?? 0, repeat?.key ?? ""];
    args.push(after.offset, after.mark, lease?.token ?? "", lease?.replica ?? "", options.leaseMs);
    args.push(this.#context.publishEvents, keys.events(taskId), connections.publishCommand, keys.wake, keys.inbox(""));
    args.push(ready?.entry.mark ?? "", ready?.entry.bytes ?? "", ...headArgs(ready?.head, taskId));
    args.push(facts.state, ready === undefined ? 0 : this.#context.retentionOf(kindOfState(ready.head.state)));
    if (push !== undefined) args.push(push.id, push.bytes, push.most);
    return connections.write(keys.shard, SCRIPTS.command, names, args);
  }

  /** A repeat is answered with what the first send has stored: safely stored. */
  async #settled(keys: ShardKeys, taskId: string): Promise<void> {
    if (this.#context.connections.durable) await this.#visibility.settle(keys.shard, [taskId]);
  }
}
