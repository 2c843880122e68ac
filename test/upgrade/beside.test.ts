/** The current version beside the release before, on one Redis, in both directions. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { WRITES } from "../../src/core/format.ts";
import { send, startTask, stateOf, taskOf } from "../bindings/bed.ts";
import { logHeaders } from "../chaos/position.ts";
import { ReplicaProcess } from "../e2e/replica-process.ts";
import { firstOf, follow } from "../e2e/seen.ts";
import { assertPromises, recordOf } from "../e2e/replica.ts";
import { type RedisServer, redisServer } from "../redis/redis-server.ts";
import { until } from "../redis/until.ts";
import { storedLog } from "../storage/store-bed.ts";
import { assertWhole, beginTasks, Bell, LEASE, ownersOf, ticking, WITHIN_MS } from "./mixed.ts";
import { Version } from "./version.ts";

const skip = Version.noPrevious();

test("what this version writes, the release before reads", { skip }, () => {
  const text = Version.ofPrevious("src/core/format.ts");
  const reads = text === undefined ? 1 : Number(/READS = (\d+)/.exec(text)?.[1]);
  assert.ok(
    WRITES <= reads,
    `format ${WRITES} is written, and the release before reads ${reads}: read a format one version before it is written`,
  );
});

for (const direction of ["current after previous", "previous after current"] as const) {
  suite(`${direction}: tasks begin on the one and go on by the other`, { timeout: 280_000, skip }, () => {
    let previous: Version;
    let redis: RedisServer;
    let other: ReplicaProcess;
    const startHome = (name: string): Promise<ReplicaProcess> =>
      ReplicaProcess.start(redis.url, name, LEASE, direction === "current after previous" ? previous : Version.current());
    before(async () => {
      previous = Version.previous();
      redis = await redisServer();
      const version = direction === "current after previous" ? Version.current() : previous;
      other = await ReplicaProcess.start(redis.url, "other", LEASE, version);
    });
    after(async () => {
      await other?.[Symbol.asyncDispose]();
      await redis?.[Symbol.asyncDispose]();
      previous?.[Symbol.dispose]();
    });

    for (const signal of ["SIGKILL", "SIGTERM"] as const) {
      test(`after ${signal} every turn goes on, and no reader misses anything or sees it twice`, async () => {
        using bell = new Bell();
        await using home = await startHome(signal);
        const tasks = await beginTasks(redis, home, other, bell.text);
        // Scripts are known by their digests: each version sends its own again.
        await redis.call("SCRIPT", "FLUSH");
        await ticking(redis, tasks);
        home.signal(signal);
        await until("every turn was taken over", WITHIN_MS, async () => {
          const owners = await Promise.all(tasks.map((task) => ownersOf(redis, task)));
          return owners.every((count) => count === 2);
        });
        bell.ring();
        await assertWhole(redis, other, tasks);
      });
    }

    test("a reader that has left the one goes on by its position at the other", async () => {
      using bell = new Bell();
      await using home = await startHome("resumed");
      const own = home.grpc.stream("SendStreamingMessage", send(bell.text), { headers: logHeaders() });
      const first = await firstOf(own);
      const seen = [first.frame];
      let last = first.frame;
      for (let count = 0; count < 5; count += 1) seen.push((last = (await firstOf(own)).frame));
      own.leave();
      const { position } = last;
      assert.ok(position !== undefined);
      const again = other.rest.stream("SubscribeToTask", { id: first.taskId }, { headers: logHeaders({ taskId: first.taskId, position }) });
      const next = await firstOf(again);
      await ticking(redis, [{ id: first.taskId }]);
      bell.ring();
      const record = await follow(again, next, seen);
      assertPromises([await recordOf(redis, other.grpc, first.taskId)], [record]);
    });

    test("a running task is canceled at the other", async () => {
      using bell = new Bell();
      await using home = await startHome("canceled");
      const [task] = await beginTasks(redis, home, other, bell.text);
      assert.ok(task !== undefined);
      const canceled = taskOf(await other.rest.unary("CancelTask", { id: task.id }));
      assert.equal(stateOf(canceled), "TASK_STATE_CANCELED");
      const { task: stored } = await recordOf(redis, home.grpc, task.id);
      assert.equal(stored.status?.state, TaskState.CANCELED);
    });

    test("a task that waits for its caller goes on by a message to the other, and is listed by both", async () => {
      using bell = new Bell();
      await using home = await startHome("asked");
      const id = await startTask(home.grpc, "ask");
      await until("the task waits", WITHIN_MS, async () => {
        const { message } = await other.grpc.unary("GetTask", { id });
        return stateOf(message) === "TASK_STATE_INPUT_REQUIRED";
      });
      bell.ring();
      const { contextId } = taskOf(await home.grpc.unary("GetTask", { id }));
      const done = taskOf(await other.grpc.unary("SendMessage", send(bell.text, { message: { taskId: id } })));
      assert.equal(stateOf(done), "TASK_STATE_COMPLETED");
      for (const { grpc } of [home, other]) {
        const { message } = await grpc.unary("ListTasks", { contextId, includeArtifacts: true });
        const [listed] = message["tasks"] as { id: string; artifacts: unknown[] }[];
        assert.deepEqual([listed?.id, listed?.artifacts.length], [id, 1]);
      }
      assert.ok((await storedLog(redis, id)).length > 4);
    });
  });
}
