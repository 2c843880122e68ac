/** Tasks on replicas of two versions, and what came of them. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { FollowerRecord } from "../../src/testing/index.ts";
import { send } from "../bindings/bed.ts";
import { logHeaders } from "../chaos/position.ts";
import { assertPromises, recordOf } from "../e2e/replica.ts";
import type { ReplicaProcess } from "../e2e/replica-process.ts";
import { asFarAsItGoes, firstOf, follow } from "../e2e/seen.ts";
import { removeFolder, temporaryFolder } from "../redis/child-guard.ts";
import type { RedisServer } from "../redis/redis-server.ts";
import { until } from "../redis/until.ts";
import { keysOf, storedLog } from "../storage/store-bed.ts";

/** Leases as short as a test can bear. */
export const LEASE = { "lease-ms": 1500, "renew-ms": 400, "sweep-ms": 100 } as const;
/** How long anything is waited for. */
export const WITHIN_MS = 60_000;

/** Lets tasks tick until it is over. */
export class Bell implements Disposable {
  readonly #folder = temporaryFolder("bell");

  /** What an agent is told: to tick until {@link ring}. */
  get text(): string {
    return `until ${join(this.#folder, "rung")} 20`;
  }

  ring(): void {
    writeFileSync(join(this.#folder, "rung"), "");
  }

  [Symbol.dispose](): void {
    removeFolder(this.#folder);
  }
}

/** A task with a reader where it began and one elsewhere. */
export interface Followed {
  readonly id: string;
  readonly own: Promise<FollowerRecord>;
  readonly elsewhere: Promise<FollowerRecord>;
}

/** Begins a task for each binding at home, each with a reader elsewhere; resolves when all of them tick. */
export async function beginTasks(redis: RedisServer, home: ReplicaProcess, other: ReplicaProcess, text: string): Promise<Followed[]> {
  const tasks = await Promise.all(
    home.callers.map(async (caller, at) => {
      const own = caller.stream("SendStreamingMessage", send(text), { headers: logHeaders() });
      const first = await firstOf(own);
      const reader = other.callers[at]?.stream("SubscribeToTask", { id: first.taskId }, { headers: logHeaders() });
      assert.ok(reader !== undefined);
      const elsewhere = follow(reader, await firstOf(reader));
      elsewhere.catch(() => undefined);
      return { id: first.taskId, own: asFarAsItGoes(own, first), elsewhere };
    }),
  );
  await ticking(redis, tasks);
  return tasks;
}

/** Resolves when each log has some entries more. */
export async function ticking(redis: RedisServer, tasks: readonly Pick<Followed, "id">[]): Promise<void> {
  await Promise.all(
    tasks.map(async ({ id }) => {
      // Past every store: the log may be one that this version cannot read.
      const end = async (): Promise<number> => Number(await redis.call("HGET", keysOf(id).task(id), "nx"));
      const before = await end();
      await until(`task ${id} ticks`, WITHIN_MS, async () => (await end()) > before + 5);
    }),
  );
}

/** Waits for the ends of tasks that are to complete, by what a replica answers; checks every promise, and that no tick is missing or there twice. */
export async function assertWhole(redis: RedisServer, replica: ReplicaProcess, tasks: readonly Followed[]): Promise<void> {
  const followers = (await Promise.all(tasks.map(({ own, elsewhere }) => Promise.all([own, elsewhere])))).flat();
  const records = await Promise.all(tasks.map(({ id }) => recordOf(redis, replica.grpc, id)));
  assertPromises(records, followers);
  for (const { task } of records) {
    assert.equal(task.status?.state, TaskState.COMPLETED);
    const ticks = task.artifacts[0]?.parts.map(({ content }) => Number(content.value)) ?? [];
    assert.deepEqual(ticks, [...ticks.keys()]);
  }
}

/** How many owners a task has had. */
export async function ownersOf(redis: RedisServer, { id }: Pick<Followed, "id">): Promise<number> {
  return new Set((await storedLog(redis, id)).map(({ epoch }) => epoch)).size;
}
