/** What an owner can give back of a log whose end a failover has lost. */
import { RefusedError } from "../../core/errors.ts";
import type { HealReply, Lease, Remains } from "../../core/storage.ts";
import type { Arg } from "./connection/reply.ts";
import type { Visibility } from "./visibility.ts";
import { kindOfState, type RedisContext } from "./context.ts";
import { accepted, kindLetter, state } from "./replies.ts";
import { SCRIPTS } from "./scripts.ts";
import { headArgs, type TaskLog } from "./task-log.ts";

/** Writes lost entries again. */
export class Healer {
  readonly #context: RedisContext;
  readonly #log: TaskLog;
  readonly #visibility: Visibility;

  constructor(context: RedisContext, log: TaskLog, visibility: Visibility) {
    this.#context = context;
    this.#log = log;
    this.#visibility = visibility;
  }

  /** `healed` where the log is what the owner had, or is again. */
  async heal(lease: Lease, remains: Remains): Promise<HealReply> {
    const { taskId } = lease;
    const keys = this.#context.of(taskId);
    const facts = keys && (await this.#log.facts(taskId));
    const last = remains.entries.at(-1);
    if (keys === undefined || facts === undefined || last === undefined) throw new RefusedError("FENCED");
    const { connections } = this.#context;
    const { head, consumed, cancelRequested } = remains;
    const kind = kindOfState(head.state);
    for (;;) {
      const writer = this.#visibility.epoch(keys.shard);
      const names = [keys.task(taskId), keys.log(taskId), keys.leases, keys.ready, keys.end, keys.due];
      names.push(...this.#context.indexKeys(keys, facts, head.state));
      const args: Arg[] = [taskId, lease.epoch, lease.token, consumed, cancelRequested, ...headArgs(head, taskId)];
      args.push(facts.state, this.#context.retentionOf(kind), this.#context.publishEvents, keys.events(taskId));
      for (const { offset, mark, epoch, time, format, kind: entryKind, bytes } of remains.entries) {
        args.push(offset, mark, epoch, time, kindLetter(entryKind), bytes, format);
      }
      const [word, current] = accepted(
        await this.#context.retry(keys.shard, () => connections.write(keys.shard, SCRIPTS.heal, names, args)),
        taskId,
      );
      if (word === "RETRY") {
        facts.state = state(current);
        continue;
      }
      if (word === "DIVERGED") return "diverged";
      facts.state = head.state;
      await this.#visibility.confirm({ shard: keys.shard, taskId, last, epoch: word === "AGAIN" ? undefined : writer });
      return "healed";
    }
  }
}
