/** What an upstream does not take, and what it answers without a task. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Code } from "@connectrpc/connect";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { failure, says } from "./foreign-agent.ts";
import { ForeignBed } from "./foreign-bed.ts";
import { asTask, begin, said, seen, stateName, texts } from "./tasks.ts";

suite("what an upstream refuses", () => {
  test("before a task is there is refused, in its words", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front();
    bed.agent.onSend = async () => {
      throw failure("CONTENT_TYPE_NOT_SUPPORTED", Code.InvalidArgument, "no poems, please");
    };
    await assert.rejects(() => begin(front.client, "go"), { reason: "CONTENT_TYPE_NOT_SUPPORTED", message: "no poems, please" });
    assert.equal((await front.client.listTasks()).tasks.length, 0);
  });

  test("of the front's own affairs is not the caller's business", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front();
    bed.agent.onSend = async () => {
      throw failure("UNAUTHENTICATED", Code.Unauthenticated, "the front's password is wrong: s3cret");
    };
    await assert.rejects(() => begin(front.client, "go"), { reason: "INTERNAL" });
  });

  test("for now is sent again later", async () => {
    await using bed = await ForeignBed.open({ lists: false });
    const front = await bed.front();
    bed.agent.onSend = async () => {
      if (bed.agent.sends.length < 3) {
        const refused = failure("RESOURCE_EXHAUSTED", Code.ResourceExhausted);
        refused.metadata.set("retry-after", "0");
        throw refused;
      }
    };
    const id = await begin(front.client, "go");
    (await bed.agent.task(1)).status(TaskState.COMPLETED);
    assert.equal(stateName(asTask(await front.client.follow(id))), "COMPLETED");
  });

  test("of a follow-up leaves the task waiting, and says why; the next one is taken", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front();
    const id = await begin(front.client, "go");
    (await bed.agent.task(1)).status(TaskState.INPUT_REQUIRED, "which?");
    await seen(front.client, id, (task) => stateName(task) === "INPUT_REQUIRED");
    bed.agent.onSend = async () => {
      throw failure("INVALID_ARGUMENT", Code.InvalidArgument, "a number, please");
    };
    const refused = asTask(await front.client.send("the blue one", { taskId: id }));
    assert.equal(stateName(refused), "INPUT_REQUIRED");
    assert.equal(said(refused), "the upstream agent refused: a number, please");
    bed.agent.onSend = async () =>
      void setImmediate(() => void bed.agent.task(1).then((task) => task.status(TaskState.COMPLETED, "thanks")));
    const done = asTask(await front.client.send("7", { taskId: id }));
    assert.deepEqual([stateName(done), said(done)], ["COMPLETED", "thanks"]);
    assert.equal((await bed.agent.task(1)).messages.length, 2);
  });

  test("because its task has ended otherwise is how the task ends", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front();
    const id = await begin(front.client, "go");
    const upstream = await bed.agent.task(1);
    upstream.status(TaskState.INPUT_REQUIRED, "which?");
    await seen(front.client, id, (task) => stateName(task) === "INPUT_REQUIRED");
    upstream.chunk("without you");
    upstream.status(TaskState.COMPLETED, "too late");
    const task = asTask(await front.client.send("this one", { taskId: id }));
    assert.deepEqual([stateName(task), said(task), texts(task)], ["COMPLETED", "too late", ["without you"]]);
  });

  test("while it works does not stop the task", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front({}, { acceptsMessages: true });
    const id = await begin(front.client, "go");
    const upstream = await bed.agent.task(1);
    upstream.status(TaskState.WORKING, "on it");
    await seen(front.client, id, (task) => said(task) === "on it");
    const more = front.client.send("faster", { taskId: id });
    await seen(front.client, id, (task) => said(task).startsWith("the upstream agent"));
    upstream.status(TaskState.COMPLETED, "done");
    assert.equal(stateName(asTask(await more)), "COMPLETED");
  });
});

test("messages are handed on while the upstream works, each once", async () => {
  await using bed = await ForeignBed.open({ acceptsMessages: true });
  const front = await bed.front({}, { acceptsMessages: true });
  const id = await begin(front.client, "go");
  const upstream = await bed.agent.task(1);
  upstream.status(TaskState.WORKING, "on it");
  await seen(front.client, id, (task) => said(task) === "on it");
  const sends = ["one", "two", "three"].map((text) => front.client.send(text, { taskId: id }));
  await bed.agent.until((agent) => agent.sends.length === 4);
  upstream.chunk("all");
  upstream.status(TaskState.COMPLETED, "done");
  for (const sent of sends) assert.equal(stateName(asTask(await sent)), "COMPLETED");
  const taken = upstream.messages.map(({ parts: [part] }) => (part?.content.case === "text" ? part.content.value : ""));
  assert.deepEqual(
    taken.toSorted((one, other) => one.localeCompare(other)),
    ["go", "one", "three", "two"],
  );
});

suite("an upstream that answers with a message", () => {
  test("after the first word was waited for: it is the last word of a task", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front({}, { firstWordMs: 1 });
    const go = Promise.withResolvers<void>();
    bed.agent.onSend = async () => {
      await go.promise;
      return says("here you are");
    };
    const id = await begin(front.client, "go");
    go.resolve();
    const task = asTask(await front.client.follow(id));
    assert.deepEqual([stateName(task), said(task)], ["COMPLETED", "here you are"]);
    assert.equal(bed.agent.sends.length, 1);
  });

  test("where nothing is sent before it is stored: so it is", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front({}, { firstWordMs: 0 });
    bed.agent.onSend = async () => says("here you are");
    const task = asTask(await front.client.send("go"));
    assert.deepEqual([stateName(task), said(task)], ["COMPLETED", "here you are"]);
  });

  test("to a follow-up: the task goes on as the upstream says", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front();
    const id = await begin(front.client, "go");
    (await bed.agent.task(1)).status(TaskState.INPUT_REQUIRED, "which?");
    await seen(front.client, id, (task) => stateName(task) === "INPUT_REQUIRED");
    bed.agent.onSend = async () => says("that is no answer");
    const task = asTask(await front.client.send("what?", { taskId: id }));
    assert.equal(stateName(task), "INPUT_REQUIRED");
    assert.deepEqual(
      task.history.map(({ parts }) => parts[0]?.content.value),
      ["go", "which?", "what?", "that is no answer"],
    );
  });
});
