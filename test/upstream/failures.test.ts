/** What becomes of a task when its upstream goes away, loses it, or cannot do what ours can. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Code } from "@connectrpc/connect";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { failure } from "./foreign-agent.ts";
import { ForeignBed } from "./foreign-bed.ts";
import { asTask, begin, said, seen, stateName, texts } from "./tasks.ts";

suite("an upstream that loses its task", () => {
  test("is not run again: the task ends FAILED, and the work may have run", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front();
    const id = await begin(front.client, "go");
    (await bed.agent.task(1)).chunk("one ");
    await seen(front.client, id, (task) => texts(task).length === 1);
    bed.agent.tasks.clear();
    bed.proxy.cut();
    const task = asTask(await front.client.follow(id));
    assert.equal(stateName(task), "FAILED");
    assert.match(said(task), /does not know the task any more; the work may have run/);
    assert.deepEqual(texts(task), ["one "]);
    assert.equal(bed.agent.sends.length, 1);
  });

  test("is asked again where its work may run twice, and what it then produces takes the place of what it had produced", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front({}, { lost: "rerun" });
    const id = await begin(front.client, "go");
    (await bed.agent.task(1)).chunk("old ");
    await seen(front.client, id, (task) => texts(task).length === 1);
    bed.agent.tasks.clear();
    bed.proxy.cut();
    const again = await bed.agent.task(1);
    again.chunk("new ");
    again.chunk("end");
    again.status(TaskState.COMPLETED);
    const task = asTask(await front.client.follow(id));
    assert.deepEqual([stateName(task), texts(task)], ["COMPLETED", ["new ", "end"]]);
    const [first, second] = bed.agent.sends;
    assert.deepEqual([bed.agent.sends.length, second?.message.messageId], [2, first?.message.messageId]);
  });

  test("over and over is given up", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front({}, { lost: "rerun" });
    bed.agent.onCall = async (method) => {
      if (method === "GetTask" || method === "SubscribeToTask") throw failure("TASK_NOT_FOUND", Code.NotFound);
    };
    const id = await begin(front.client, "go");
    for (let send = 1; send <= 4; send += 1) {
      (await bed.agent.task(send)).status(TaskState.WORKING, `run ${send}`);
      await seen(front.client, id, (task) => said(task) === `run ${send}` || stateName(task) === "FAILED");
      bed.proxy.cut();
    }
    const task = asTask(await front.client.follow(id));
    assert.equal(stateName(task), "FAILED");
    assert.equal(bed.agent.sends.length, 4);
  });

  test("on a follow-up does not run the answer as if it were the question", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front({}, { lost: "rerun" });
    const id = await begin(front.client, "go");
    (await bed.agent.task(1)).status(TaskState.INPUT_REQUIRED, "which?");
    await seen(front.client, id, (task) => stateName(task) === "INPUT_REQUIRED");
    bed.agent.tasks.clear();
    const task = asTask(await front.client.send("this one", { taskId: id }));
    assert.equal(stateName(task), "FAILED");
    assert.match(said(task), /does not know the task any more/);
    assert.equal(bed.agent.tasks.size, 0);
  });
});

suite("an upstream that does less than ours", () => {
  test("and does not stream is polled", async () => {
    await using bed = await ForeignBed.open({ streaming: false, subscribes: false });
    const front = await bed.front();
    const run = front.client.send("go");
    const upstream = await bed.agent.task(1);
    upstream.status(TaskState.WORKING, "on it");
    upstream.chunk("one ");
    const begun = await run[Symbol.asyncIterator]().next();
    assert.ok(begun.done !== true && begun.value.task !== undefined);
    await seen(front.client, begun.value.task.id, (task) => texts(task).length === 1);
    upstream.chunk("two");
    upstream.status(TaskState.COMPLETED, "done");
    const task = asTask(await run);
    assert.deepEqual([stateName(task), texts(task), said(task)], ["COMPLETED", ["one ", "two"], "done"]);
  });

  test("and does not stream waits for an authorization all the same", async () => {
    await using bed = await ForeignBed.open({ streaming: false, subscribes: false });
    const front = await bed.front();
    const id = await begin(front.client, "go");
    const upstream = await bed.agent.task(1);
    upstream.status(TaskState.AUTH_REQUIRED, "log in");
    await seen(front.client, id, (task) => stateName(task) === "AUTH_REQUIRED");
    upstream.status(TaskState.COMPLETED, "in");
    const run = front.client.follow(id, { until: "terminal" });
    assert.equal(said(asTask(await run)), "in");
  });

  for (const [how, options, subscribe] of [
    ["is not there", { subscribes: false }, undefined],
    ["finds only what runs in its own process", {}, failure("TASK_NOT_FOUND", Code.NotFound)],
    ["breaks", {}, failure("INTERNAL", Code.Internal)],
    ["is refused", {}, failure("UNSUPPORTED_OPERATION", Code.FailedPrecondition)],
  ] as const) {
    test(`and cannot be subscribed to again is polled after a cut: SubscribeToTask ${how}`, async () => {
      await using bed = await ForeignBed.open(options);
      const front = await bed.front();
      bed.agent.onCall = async (method) => {
        if (method === "SubscribeToTask" && subscribe !== undefined) throw subscribe;
      };
      const id = await begin(front.client, "go");
      const upstream = await bed.agent.task(1);
      upstream.chunk("one ");
      await seen(front.client, id, (task) => texts(task).length === 1);
      bed.proxy.cut();
      upstream.chunk("two ");
      await seen(front.client, id, (task) => texts(task).length === 2);
      upstream.chunk("three");
      upstream.status(TaskState.COMPLETED);
      const task = asTask(await front.client.follow(id));
      assert.deepEqual([stateName(task), texts(task)], ["COMPLETED", ["one ", "two ", "three"]]);
      assert.equal(bed.agent.sends.length, 1);
    });
  }

  test("and whose stream leaves something out after a cut is asked for the whole before the end", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front();
    const id = await begin(front.client, "go");
    const upstream = await bed.agent.task(1);
    upstream.chunk("one ");
    await seen(front.client, id, (task) => texts(task).length === 1);
    const subscribed = Promise.withResolvers<void>();
    bed.agent.onCall = async (method) => {
      if (method === "SubscribeToTask") subscribed.resolve();
    };
    bed.proxy.cut();
    await subscribed.promise;
    upstream.chunk("two ", { unheard: true });
    upstream.chunk("three");
    upstream.status(TaskState.COMPLETED);
    const task = asTask(await front.client.follow(id));
    assert.deepEqual(texts(task), ["one ", "two ", "three"]);
  });
});

suite("an upstream that is away", () => {
  test("when it is sent to does not fail the send: the task begins, and goes on when it is back", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front();
    bed.proxy.refuse();
    const id = await begin(front.client, "go");
    assert.equal(stateName(await front.client.getTask(id)), "SUBMITTED");
    await bed.proxy.accept();
    (await bed.agent.task(1)).status(TaskState.COMPLETED, "done");
    const task = asTask(await front.client.follow(id));
    assert.deepEqual([stateName(task), bed.agent.sends.length], ["COMPLETED", 1]);
  });

  test("for longer than it may be ends the task FAILED, and says whether the work may have run", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front({}, { awayMs: 200 });
    const begun = await begin(front.client, "go");
    await bed.agent.task(1);
    bed.proxy.refuse();
    bed.proxy.cut();
    assert.match(said(asTask(await front.client.follow(begun))), /away for 0 s; the work may have run$/);
    const unsent = await begin(front.client, "go");
    assert.match(said(asTask(await front.client.follow(unsent))), /away for 0 s$/);
  });

  test("by its own word, for longer than it may be, ends the task FAILED", async () => {
    for (const age of ["3600", "999999999"]) {
      await using bed = await ForeignBed.open();
      const front = await bed.front({}, { awayMs: 200 });
      const refused = failure("RESOURCE_EXHAUSTED", Code.ResourceExhausted);
      refused.metadata.set("retry-after", age);
      bed.agent.onSend = async () => {
        throw refused;
      };
      const id = await begin(front.client, "go");
      assert.match(said(asTask(await front.client.follow(id))), /away for 0 s$/);
      assert.ok(bed.agent.sends.length <= 3, `it was asked ${bed.agent.sends.length} times`);
    }
  });

  test("and comes back with what it has produced meanwhile gives it once", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front();
    const id = await begin(front.client, "go");
    const upstream = await bed.agent.task(1);
    upstream.chunk("one ");
    await seen(front.client, id, (task) => texts(task).length === 1);
    bed.proxy.refuse();
    bed.proxy.cut();
    for (const text of ["two ", "three"]) upstream.chunk(text);
    upstream.status(TaskState.COMPLETED);
    await bed.proxy.accept();
    assert.deepEqual(texts(asTask(await front.client.follow(id))), ["one ", "two ", "three"]);
  });

  test("before it has answered is not sent to twice: its task is found by the message", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front();
    const [taken, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    bed.agent.onSend = async () => {
      taken.resolve();
      await go.promise;
    };
    const sent = begin(front.client, "go");
    await taken.promise;
    // What was sent is carried out; its reply finds nobody.
    bed.proxy.refuse();
    bed.proxy.cut();
    const id = await sent;
    go.resolve();
    const upstream = await bed.agent.task(1);
    await bed.proxy.accept();
    upstream.chunk("one");
    upstream.status(TaskState.COMPLETED);
    assert.deepEqual(texts(asTask(await front.client.follow(id))), ["one"]);
    assert.equal(bed.agent.sends.length, 1);
  });

  for (const [why, options] of [
    ["lists no tasks", { lists: false }],
    ["does not tell what it was asked", { tellsHistory: false }],
  ] as const) {
    test(`before it has answered, and ${why}: nobody can tell, and the task fails rather than run twice`, async () => {
      await using bed = await ForeignBed.open(options);
      const front = await bed.front();
      const lost = bed.proxy.dropNextReply({ match: (sent) => sent.includes("once only"), isReply: (bytes) => bytes.includes("f-1") });
      const id = await begin(front.client, "once only");
      await lost;
      const task = asTask(await front.client.follow(id));
      assert.equal(stateName(task), "FAILED");
      assert.match(said(task), /nobody can tell what became of the message.*the work may have run/);
      assert.equal(bed.agent.sends.length, 1);
    });
  }
});
