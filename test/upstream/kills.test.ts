/** Replicas of a front that are killed at every step: no message is worked on twice, and none is lost. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { ForeignBed } from "./foreign-bed.ts";
import { FrontBed } from "./front-bed.ts";
import { FrontProcesses } from "./front-process.ts";
import { asTask, begin, said, seen, stateName, texts } from "./tasks.ts";

/** Nothing goes upstream that is not stored before. */
const STORED_FIRST = ["--upstream-first-word-ms", "0"];

suite("a replica of a front that is killed", { concurrency: 2, timeout: 300_000 }, () => {
  test("before it could send leaves the message to the next one, which sends it once", async () => {
    await using bed = await ForeignBed.open();
    await using fronts = await FrontProcesses.start(`127.0.0.1:${bed.proxy.port}`, STORED_FIRST);
    bed.proxy.refuse();
    bed.proxy.cut();
    const id = await begin(fronts.client, "go");
    await fronts.kill();
    await bed.proxy.accept();
    (await bed.agent.task(1)).status(TaskState.COMPLETED);
    assert.equal(stateName(asTask(await fronts.client.follow(id))), "COMPLETED");
    assert.equal(bed.agent.sends.length, 1);
  });

  test("when the message is with the upstream, and before its answer, leaves the task to be found", async () => {
    await using bed = await ForeignBed.open();
    await using fronts = await FrontProcesses.start(`127.0.0.1:${bed.proxy.port}`, STORED_FIRST);
    const go = Promise.withResolvers<void>();
    bed.agent.onSend = () => go.promise;
    const id = await begin(fronts.client, "go");
    await bed.agent.until(({ sends }) => sends.length === 1);
    await fronts.kill();
    go.resolve();
    const upstream = await bed.agent.task(1);
    upstream.chunk("one");
    upstream.status(TaskState.COMPLETED);
    const task = asTask(await fronts.client.follow(id));
    assert.deepEqual([stateName(task), texts(task), bed.agent.sends.length], ["COMPLETED", ["one"], 1]);
  });

  test("when the message is with the upstream, which shows no task of it yet, leaves it to be looked for", async () => {
    await using bed = await ForeignBed.open();
    await using fronts = await FrontProcesses.start(`127.0.0.1:${bed.proxy.port}`, STORED_FIRST);
    const [go, looked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    bed.agent.onSend = () => go.promise;
    bed.agent.onCall = async (method) => {
      if (method === "ListTasks") looked.resolve();
    };
    const id = await begin(fronts.client, "go");
    await bed.agent.until(({ sends }) => sends.length === 1);
    await fronts.kill();
    await looked.promise;
    go.resolve();
    (await bed.agent.task(1)).status(TaskState.COMPLETED);
    assert.equal(stateName(asTask(await fronts.client.follow(id))), "COMPLETED");
    assert.equal(bed.agent.sends.length, 1);
  });

  test("in mid-stream, and the next one too, leaves the upstream's task to be followed on", async () => {
    await using bed = await ForeignBed.open();
    await using fronts = await FrontProcesses.start(`127.0.0.1:${bed.proxy.port}`);
    const id = await begin(fronts.client, "go");
    const upstream = await bed.agent.task(1);
    upstream.chunk("one ");
    await seen(fronts.client, id, (task) => texts(task).length === 1);
    await fronts.kill();
    upstream.chunk("two ");
    await seen(fronts.client, id, (task) => texts(task).length === 2);
    await fronts.add("three");
    await fronts.kill();
    upstream.chunk("three");
    upstream.status(TaskState.COMPLETED);
    const task = asTask(await fronts.client.follow(id));
    assert.deepEqual([stateName(task), texts(task), bed.agent.sends.length], ["COMPLETED", ["one ", "two ", "three"], 1]);
  });

  for (const arrived of [true, false]) {
    test(`on a follow-up ${arrived ? "that has arrived finds that out" : "that has not arrived sends it"}`, async () => {
      await using bed = await ForeignBed.open();
      await using fronts = await FrontProcesses.start(`127.0.0.1:${bed.proxy.port}`);
      const id = await begin(fronts.client, "go");
      const upstream = await bed.agent.task(1);
      upstream.status(TaskState.INPUT_REQUIRED, "which?");
      await seen(fronts.client, id, (task) => stateName(task) === "INPUT_REQUIRED");
      const go = Promise.withResolvers<void>();
      bed.agent.onSend = () => go.promise;
      if (!arrived) {
        bed.proxy.refuse();
        bed.proxy.cut();
      }
      const run = fronts.client.send("this one", { taskId: id });
      if (arrived) await bed.agent.until(({ sends }) => sends.length === 2);
      else await seen(fronts.client, id, (task) => stateName(task) === "WORKING");
      await fronts.kill();
      go.resolve();
      await bed.proxy.accept();
      await bed.agent.until(({ sends }) => sends.length === 2);
      while (upstream.messages.length < 2) await delay(5);
      upstream.status(TaskState.COMPLETED, "thanks");
      assert.equal(said(asTask(await run)), "thanks");
      assert.equal(bed.agent.sends.length, 2);
    });
  }

  test("anywhere, over an upstream that knows repeats, makes no task twice and loses none", async () => {
    await using bed = await FrontBed.open("GRPC");
    await using fronts = await FrontProcesses.start(`http://127.0.0.1:${bed.upstream.server.ports.http}`);
    const gates = Array.from({ length: 24 }, () => bed.upstream.agent.gate());
    const runs = gates.map(async (gate, index) => {
      await delay(index * 40);
      return fronts.client.send(`chunks ${gate.name}`);
    });
    const steps = (async () => {
      for (let step = 0; step < 3; step += 1) {
        await delay(300);
        for (const gate of gates) gate.open();
      }
    })();
    await delay(500);
    await fronts.kill();
    const tasks = (await Promise.all(runs)).map(asTask);
    await steps;
    for (const task of tasks) assert.deepEqual([stateName(task), texts(task)], ["COMPLETED", ["one ", "two ", "three"]]);
    assert.equal(new Set(tasks.map(({ id }) => id)).size, gates.length);
    assert.equal((await bed.upstreamTasks()).length, gates.length);
  });
});
