/** What a front's log tells of its upstream. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { MessageSchema, Role, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { isTask } from "../../src/client/task-view.ts";
import { until } from "../redis/until.ts";
import { KeptLog } from "../worker/bed.ts";
import { failure } from "./foreign-agent.ts";
import { ForeignBed } from "./foreign-bed.ts";
import { begin, seen, texts } from "./tasks.ts";

const AWAY = "the upstream agent is away; the tasks that it works on wait for it";
const HEARD = "the upstream agent is heard again";

async function line(log: KeptLog, message: RegExp | string): Promise<Readonly<Record<string, unknown>>> {
  const isIt = typeof message === "string" ? (told: string) => told === message : (told: string) => message.test(told);
  return until(`the log says ${String(message)}`, 10_000, async () => log.lines.find((one) => isIt(one.message))?.facts);
}

suite("the log of a front", () => {
  test("says once that the upstream is away, and once that it is back, however many tasks wait", async () => {
    await using bed = await ForeignBed.open();
    const log = new KeptLog();
    const front = await bed.front({}, { log });
    const ids = [await begin(front.client, "go"), await begin(front.client, "go"), await begin(front.client, "go")];
    const tasks = [await bed.agent.task(1), await bed.agent.task(2), await bed.agent.task(3)];
    bed.proxy.refuse();
    bed.proxy.cut();
    const { error } = await line(log, AWAY);
    assert.ok(error instanceof Error);
    await bed.proxy.accept();
    for (const task of tasks) task.status(TaskState.COMPLETED, "done");
    await Promise.all(ids.map(async (id) => front.client.follow(id)));
    const { awayMs } = await line(log, HEARD);
    assert.ok(Number(awayMs) >= 0);
    assert.deepEqual(
      log.lines.map(({ message }) => message),
      [AWAY, HEARD],
    );
  });

  test("says nothing of a stream that was cut and picked up again", async () => {
    await using bed = await ForeignBed.open();
    const log = new KeptLog();
    const front = await bed.front({}, { log });
    const id = await begin(front.client, "go");
    const task = await bed.agent.task(1);
    for (let chunk = 1; chunk <= 3; chunk += 1) {
      task.chunk(`${chunk} `);
      await seen(front.client, id, (told) => texts(told).length === chunk);
      bed.proxy.cut();
    }
    task.status(TaskState.COMPLETED, "done");
    await front.client.follow(id);
    assert.deepEqual(log.lines, []);
  });

  test("says that the upstream is back when all that comes is a direct message", async () => {
    await using bed = await ForeignBed.open();
    const log = new KeptLog();
    const front = await bed.front({}, { log, awayMs: 50 });
    bed.proxy.refuse();
    await front.client.follow(await begin(front.client, "go"));
    await line(log, AWAY);
    await bed.proxy.accept();
    bed.agent.onSend = async () =>
      create(MessageSchema, { messageId: "m", role: Role.AGENT, parts: [{ content: { case: "text", value: "hi" } }] });
    // Its connection may take a while to stand again.
    await until("a direct message comes", 10_000, async () => !isTask(await front.client.send("hi")));
    await line(log, HEARD);
  });

  test("says that the upstream is back when all that it says is that it has lost the task", async () => {
    await using bed = await ForeignBed.open();
    const log = new KeptLog();
    const front = await bed.front({}, { log });
    const id = await begin(front.client, "go");
    await bed.agent.task(1);
    bed.proxy.refuse();
    bed.proxy.cut();
    await line(log, AWAY);
    bed.agent.tasks.clear();
    await bed.proxy.accept();
    await front.client.follow(id);
    await line(log, HEARD);
  });

  /** A task of which one chunk was seen, and which its upstream then loses. */
  async function losing(lost: "fail" | "rerun") {
    const bed = await ForeignBed.open();
    const log = new KeptLog();
    const { client } = await bed.front({}, { log, lost });
    const taskId = await begin(client, "go");
    const upstream = await bed.agent.task(1);
    upstream.chunk("one ");
    const { contextId } = await seen(client, taskId, (task) => texts(task).length === 1);
    bed.agent.tasks.clear();
    bed.proxy.cut();
    const ids = { taskId, contextId, upstreamTaskId: upstream.task.id };
    return { bed, log, client, ids, [Symbol.asyncDispose]: () => bed[Symbol.asyncDispose]() };
  }

  test("names the task, and the upstream's, that the upstream has lost", async () => {
    await using lost = await losing("fail");
    const { error: _, ...facts } = await line(lost.log, /^a task ends FAILED: the upstream agent does not know the task any more/);
    assert.deepEqual(facts, lost.ids);
  });

  test("names the task whose message is sent again", async () => {
    await using lost = await losing("rerun");
    assert.deepEqual(await line(lost.log, /its message is sent again$/), lost.ids);
    (await lost.bed.agent.task(1)).status(TaskState.COMPLETED);
    await lost.client.follow(lost.ids.taskId);
  });

  test("does not take a cancel of a task that waits for a word of the upstream", async () => {
    await using bed = await ForeignBed.open();
    const log = new KeptLog();
    const front = await bed.front({ cancelGraceMs: 50 }, { log });
    const id = await begin(front.client, "go");
    await bed.agent.task(1);
    bed.proxy.refuse();
    bed.proxy.cut();
    await line(log, AWAY);
    await front.client.cancelTask(id);
    await front.client.follow(id);
    assert.ok(!log.lines.some(({ message }) => message === HEARD));
  });

  for (const [reason, code] of [
    ["INTERNAL", Code.Internal],
    ["UNSUPPORTED_OPERATION", Code.Unimplemented],
  ] as const)
    test(`does not say that an upstream is away that answers, if only ${reason}`, async () => {
      await using bed = await ForeignBed.open();
      const log = new KeptLog();
      const front = await bed.front({}, { log, awayMs: 100 });
      const id = await begin(front.client, "go");
      (await bed.agent.task(1)).status(TaskState.WORKING);
      await seen(front.client, id, (task) => task.status?.state === TaskState.WORKING);
      bed.agent.onCall = async () => {
        throw failure(reason, code);
      };
      bed.proxy.cut();
      await front.client.follow(id);
      assert.deepEqual(
        log.lines.map(({ message }) => message),
        ["a task ends FAILED: the upstream agent has been away for 0 s; the work may have run"],
      );
    });

  test("says why a task that was accepted could not go on: refused, away for too long, credentials that are not taken any more", async () => {
    await using bed = await ForeignBed.open();
    const log = new KeptLog();
    const front = await bed.front({}, { log, awayMs: 50, firstWordMs: 0 });
    bed.agent.onSend = async () => {
      throw failure("INVALID_ARGUMENT", Code.InvalidArgument);
    };
    const refused = await begin(front.client, "go");
    assert.equal((await line(log, /^a task ends FAILED: the upstream agent refused/))["taskId"], refused);
    bed.agent.onSend = async () => undefined;
    const denied = await begin(front.client, "go");
    (await bed.agent.task(1)).status(TaskState.WORKING);
    await seen(front.client, denied, (task) => task.status?.state === TaskState.WORKING);
    bed.agent.onCall = async () => {
      throw failure("UNAUTHENTICATED", Code.Unauthenticated);
    };
    bed.proxy.cut();
    assert.equal((await line(log, /^a task ends FAILED: the upstream agent does not let its task be read/))["taskId"], denied);
    bed.proxy.refuse();
    bed.proxy.cut();
    const away = await begin(front.client, "go");
    assert.equal((await line(log, /^a task ends FAILED: the upstream agent has been away/))["taskId"], away);
  });
});
