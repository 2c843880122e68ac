/** An agent behind a front answers as it does without one, and outlives what it could not outlive alone. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { toJson } from "@bufbuild/protobuf";
import { ArtifactSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { isTask } from "../../src/client/task-view.ts";
import { BINDINGS } from "../client/client-bed.ts";
import { fileRedis } from "../redis/file-redis.ts";
import { FrontBed } from "./front-bed.ts";
import { asTask, texts } from "./tasks.ts";

suite("a front", () => {
  for (const binding of BINDINGS) {
    test(`brings what the upstream produces, once and in order, over ${binding}`, async () => {
      await using bed = await FrontBed.open(binding);
      const front = await bed.front();
      const gate = bed.upstream.agent.gate();
      gate.open(3);
      const task = asTask(await front.client.send(`chunks ${gate.name}`));
      assert.equal(task.status?.state, TaskState.COMPLETED);
      const { tasks } = await front.client.listTasks();
      assert.equal(tasks.length, 1);
      assert.equal(front.server.card.name, bed.upstream.server.card.name);
      assert.deepEqual(texts(task), ["one ", "two ", "three"]);
    });

    test(`answers a direct message directly, over ${binding}`, async () => {
      await using bed = await FrontBed.open(binding);
      const front = await bed.front();
      const reply = await front.client.send("reply you");
      assert.ok(!isTask(reply));
      assert.deepEqual(reply.parts[0]?.content, { case: "text", value: "re: you" });
    });

    test(`hands a question on, and its answer, over ${binding}`, async () => {
      await using bed = await FrontBed.open(binding);
      const front = await bed.front();
      const asked = asTask(await front.client.send("input"));
      assert.equal(asked.status?.state, TaskState.INPUT_REQUIRED);
      const done = asTask(await front.client.send("complete", { taskId: asked.id }));
      assert.equal(done.status?.state, TaskState.COMPLETED);
    });

    test(`cuts of the upstream's connection lose and double nothing, over ${binding}`, async () => {
      await using bed = await FrontBed.open(binding);
      const front = await bed.front();
      const gate = bed.upstream.agent.gate();
      const run = front.client.send(`chunks ${gate.name}`);
      for await (const { event } of run) {
        if (event.case === "artifactUpdate") bed.proxy.cut();
        gate.open();
      }
      const task = asTask(await run);
      assert.equal(task.status?.state, TaskState.COMPLETED);
      const [upstream] = await bed.upstreamTasks();
      assert.deepEqual(texts(task), ["one ", "two ", "three"]);
      assert.deepEqual(
        task.artifacts.map((one) => toJson(ArtifactSchema, one)),
        upstream?.artifacts.map((one) => toJson(ArtifactSchema, one)),
      );
    });
  }

  test("a replica of the front that goes away leaves the upstream's task to the next one, which runs nothing again", async () => {
    await using bed = await FrontBed.open("GRPC");
    const redis = await fileRedis();
    const fast = { leaseMs: 1000, renewMs: 300, sweepMs: 50 };
    const first = await bed.front({ redis, replica: "one", ...fast });
    const second = await bed.front({ redis, replica: "two", ...fast });
    const gate = bed.upstream.agent.gate();
    const run = first.client.send(`chunks ${gate.name}`);
    let id = "";
    for await (const { event, task } of run) {
      id = task?.id ?? "";
      if (event.case === "artifactUpdate") break;
      gate.open();
    }
    await run.close();
    const draining = first.server.drain({ atOnce: true });
    const followed = second.client.follow(id);
    gate.open(5);
    const task = asTask(await followed);
    await draining;
    assert.equal(task.status?.state, TaskState.COMPLETED);
    assert.equal((await bed.upstreamTasks()).length, 1);
    assert.deepEqual(texts(task), ["one ", "two ", "three"]);
  });
});
