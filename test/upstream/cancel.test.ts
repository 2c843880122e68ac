/** A cancel at the front reaches the upstream, wherever the task is by then. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Code } from "@connectrpc/connect";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { fileRedis } from "../redis/file-redis.ts";
import { failure } from "./foreign-agent.ts";
import { ForeignBed } from "./foreign-bed.ts";
import { asTask, begin, said, seen, stateName } from "./tasks.ts";

suite("a cancel", () => {
  test("of a task that works is told to the upstream, and ends as the upstream says", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front();
    const id = await begin(front.client, "go");
    (await bed.agent.task(1)).status(TaskState.WORKING, "on it");
    await seen(front.client, id, (task) => said(task) === "on it");
    assert.equal(stateName(await front.client.cancelTask(id)), "CANCELED");
    assert.deepEqual(bed.agent.cancels, ["f-1"]);
  });

  test("from another replica is told to the upstream", async () => {
    await using bed = await ForeignBed.open();
    const redis = await fileRedis();
    const [here, there] = [await bed.front({ redis, replica: "here" }), await bed.front({ redis, replica: "there" })];
    const id = await begin(here.client, "go");
    await bed.agent.task(1);
    assert.equal(stateName(await there.client.cancelTask(id)), "CANCELED");
    assert.deepEqual(bed.agent.cancels, ["f-1"]);
  });

  test("while the task waits for its caller is told to the upstream", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front();
    const id = await begin(front.client, "go");
    (await bed.agent.task(1)).status(TaskState.INPUT_REQUIRED, "which?");
    await seen(front.client, id, (task) => stateName(task) === "INPUT_REQUIRED");
    assert.equal(stateName(await front.client.cancelTask(id)), "CANCELED");
    await bed.agent.until(({ cancels }) => cancels.length === 1);
  });

  test("while the task waits for a replica with room is told to the upstream", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front({ capacity: 1 });
    await begin(front.client, "first");
    const id = await begin(front.client, "second");
    assert.equal(stateName(await front.client.cancelTask(id)), "CANCELED");
    await bed.agent.until(({ cancels }) => cancels.length === 1);
    assert.equal((await bed.agent.task(2)).state, TaskState.CANCELED);
  });

  for (const capacity of [1000, 1]) {
    test(`before the upstream has answered is told to it as soon as it has: capacity ${capacity}`, async () => {
      await using bed = await ForeignBed.open();
      const front = await bed.front({ capacity, cancelGraceMs: 100 }, { firstWordMs: 20 });
      if (capacity === 1) await begin(front.client, "first");
      const go = Promise.withResolvers<void>();
      bed.agent.onSend = async () => go.promise;
      const id = await begin(front.client, "go");
      assert.equal(stateName(await front.client.cancelTask(id)), "CANCELED");
      go.resolve();
      await bed.agent.until(({ cancels }) => cancels.length === 1);
      assert.equal([...bed.agent.tasks.values()].at(-1)?.state, TaskState.CANCELED);
    });
  }

  test("of a task that was never sent sends nothing", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front();
    bed.proxy.refuse();
    const id = await begin(front.client, "never");
    assert.equal(stateName(await front.client.cancelTask(id)), "CANCELED");
    await bed.proxy.accept();
    const other = await begin(front.client, "another");
    (await bed.agent.task(1)).status(TaskState.COMPLETED);
    await front.client.follow(other);
    assert.deepEqual(
      bed.agent.sends.map(({ message }) => message.parts[0]?.content.value),
      ["another"],
    );
  });

  test("while the upstream is away is told to it when it is back", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front({ cancelGraceMs: 50 });
    const id = await begin(front.client, "go");
    await bed.agent.task(1);
    bed.proxy.refuse();
    bed.proxy.cut();
    assert.equal(stateName(await front.client.cancelTask(id)), "CANCELED");
    await bed.proxy.accept();
    await bed.agent.until(({ cancels }) => cancels.length === 1);
  });

  test("that the upstream refuses is the end of our task after its grace", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front({ cancelGraceMs: 50 });
    bed.agent.onCall = async (method) => {
      if (method === "CancelTask") throw failure("TASK_NOT_CANCELABLE", Code.FailedPrecondition);
    };
    const id = await begin(front.client, "go");
    await bed.agent.task(1);
    assert.equal(stateName(await front.client.cancelTask(id)), "CANCELED");
  });

  test("that comes too late for the upstream ends the task as the upstream did", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front();
    const id = await begin(front.client, "go");
    const upstream = await bed.agent.task(1);
    bed.agent.onCall = async (method) => {
      if (method !== "CancelTask") return;
      upstream.status(TaskState.COMPLETED, "just done");
      throw failure("TASK_NOT_CANCELABLE", Code.FailedPrecondition);
    };
    const task = await front.client.cancelTask(id);
    assert.deepEqual([stateName(task), said(task)], ["COMPLETED", "just done"]);
  });
});

suite("an authorization", () => {
  test("that comes by another way lets the task go on by itself", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front();
    const id = await begin(front.client, "go");
    const upstream = await bed.agent.task(1);
    upstream.status(TaskState.AUTH_REQUIRED, "log in");
    await seen(front.client, id, (task) => stateName(task) === "AUTH_REQUIRED");
    upstream.status(TaskState.WORKING, "you are in");
    await seen(front.client, id, (task) => said(task) === "you are in");
    upstream.status(TaskState.INPUT_REQUIRED, "which?");
    assert.equal(said(asTask(await front.client.follow(id))), "which?");
  });

  test("that comes with a message is handed on, and the task works from then on", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front();
    const id = await begin(front.client, "go");
    const upstream = await bed.agent.task(1);
    upstream.status(TaskState.AUTH_REQUIRED, "log in");
    await seen(front.client, id, (task) => stateName(task) === "AUTH_REQUIRED");
    const run = front.client.send("my password", { taskId: id });
    await bed.agent.until(({ sends }) => sends.length === 2);
    upstream.status(TaskState.COMPLETED, "in");
    assert.equal(said(asTask(await run)), "in");
    assert.deepEqual(
      upstream.messages.map(({ parts }) => parts[0]?.content.value),
      ["go", "my password"],
    );
  });

  test("may be answered on another replica than the one that waits for it", async () => {
    await using bed = await ForeignBed.open();
    const redis = await fileRedis();
    const [here, there] = [await bed.front({ redis, replica: "here" }), await bed.front({ redis, replica: "there" })];
    const id = await begin(here.client, "go");
    const upstream = await bed.agent.task(1);
    upstream.status(TaskState.AUTH_REQUIRED, "log in");
    await seen(there.client, id, (task) => stateName(task) === "AUTH_REQUIRED");
    const run = there.client.send("my password", { taskId: id });
    await bed.agent.until(({ sends }) => sends.length === 2);
    upstream.status(TaskState.COMPLETED, "in");
    assert.equal(said(asTask(await run)), "in");
  });
});
