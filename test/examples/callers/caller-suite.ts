/** What every caller of the examples does, whatever it is written in. */
import assert from "node:assert/strict";
import { before, suite, test } from "node:test";
import { type JsonObject, toJson } from "@bufbuild/protobuf";
import { type Task, TaskSchema } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { stateOf } from "../../bindings/bed.ts";
import { Pace } from "../../e2e/pace.ts";
import { until } from "../../redis/until.ts";
import { CallerProcess } from "./caller-process.ts";
import { countingAgent } from "./counting-agent.ts";
import { build, type Built, type Toolchain, whyNot } from "./toolchains.ts";
import { TwoReplicas } from "./two-replicas.ts";

const WITHIN_MS = 60_000;

/** The tests of one caller; where its language is not installed, none, and a line that says so. */
export function testCaller(toolchain: Toolchain): void {
  suite(`the caller in ${toolchain.title}`, { skip: whyNot(toolchain), timeout: 290_000 }, () => {
    let built: Built;
    before(async () => {
      built = await build(toolchain);
    });

    const call = ({ proxy }: TwoReplicas, ...args: readonly string[]): CallerProcess =>
      new CallerProcess(built.directory, [...built.command, `127.0.0.1:${proxy.port}`, ...args]);

    test("runs as the README says", async () => {
      await using service = await TwoReplicas.open(countingAgent(new Pace(0)), "grpc");
      const line = built.line.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${service.proxy.port}`);
      await using caller = new CallerProcess(built.directory, ["/bin/sh", "-c", line]);
      assert.equal(stateOf((await caller.answer()) as JsonObject), "TASK_STATE_COMPLETED");
    });

    test("ends with the exact task after a cut connection and a drained replica, each part shown once", async () => {
      const pace = new Pace(20);
      await using service = await TwoReplicas.open(countingAgent(pace), "grpc");
      await using caller = call(service, "stream", "80");
      await caller.until(({ task }) => countOf(task) === 20);
      service.proxy.cut();
      pace.allow(40);
      await caller.until(({ task, streams }) => streams === 2 && countOf(task) === 40);
      await service.drain();
      pace.allow(60);
      await caller.until(({ task, streams }) => streams === 3 && countOf(task) === 60);
      pace.allow(80);
      const answer = await caller.answer();
      const stored = await service.task(caller.task?.id ?? "");
      assert.equal(stateOf(stored), "TASK_STATE_COMPLETED");
      assert.equal(textOf(caller.task), Array.from({ length: 80 }, (_, index) => `${index + 1} `).join(""));
      assert.deepEqual(toJson(TaskSchema, caller.task as Task), stored);
      assert.deepEqual(answer, stored);
      assert.equal(await service.count(), 1);
    });

    test("reads a task that has ended while its server could not be reached", async () => {
      const pace = new Pace(20);
      await using service = await TwoReplicas.open(countingAgent(pace), "grpc");
      await using caller = call(service, "stream", "40");
      await caller.until(({ task }) => countOf(task) === 20);
      service.proxy.refuse();
      service.proxy.cut();
      pace.allow(40);
      const id = caller.task?.id ?? "";
      await until("the task has ended", WITHIN_MS, async () => stateOf(await service.task(id)) === "TASK_STATE_COMPLETED");
      await service.proxy.accept();
      assert.deepEqual(await caller.answer(), await service.task(id));
    });

    for (const command of ["send", "stream"]) {
      test(`begins one task where the reply to its ${command} is lost`, async () => {
        await using service = await TwoReplicas.open(countingAgent(new Pace(3)), "grpc");
        const about = (bytes: Buffer): boolean => bytes.includes("3 0 unmistakable");
        const dropped = service.proxy.dropNextReply({ match: about, isReply: about });
        await using caller = call(service, command, "3 0 unmistakable");
        const [answer] = await Promise.all([caller.answer(), dropped]);
        assert.ok("id" in ((answer as { task?: object }).task ?? (answer as object)));
        assert.equal(await service.count(), 1);
      });
    }

    test("sends, comes back from another process, and cancels", async () => {
      await using service = await TwoReplicas.open(countingAgent(new Pace(20)), "grpc");
      await using sender = call(service, "send", "40");
      const { id } = ((await sender.answer()) as { task: { id: string } }).task;
      await using follower = call(service, "follow", id);
      await follower.until(({ task }) => countOf(task) === 20);
      await using canceler = call(service, "cancel", id);
      const canceled = await canceler.answer();
      assert.equal(stateOf(canceled as JsonObject), "TASK_STATE_CANCELED");
      assert.deepEqual(await follower.answer(), canceled);
    });

    test("takes tasks that are larger than gRPC's usual 4 MiB", async () => {
      const pace = new Pace(2);
      await using service = await TwoReplicas.open(countingAgent(pace), "grpc");
      await using caller = call(service, "stream", "3 3000000");
      await caller.until(({ task }) => countOf(task) === 2);
      service.proxy.cut();
      await caller.until(({ streams }) => streams === 2);
      pace.allow(3);
      const answer = await caller.answer();
      assert.deepEqual(answer, await service.task(caller.task?.id ?? ""));
    });

    test("says what is wrong in one line", async () => {
      await using service = await TwoReplicas.open(countingAgent(new Pace(0)), "grpc");
      await using caller = call(service, "follow", "none");
      await assert.rejects(caller.answer(), /ended with 1\n[^\n]*\n[^\n]*NOT_?FOUND[^\n]*\n$/i);
    });
  });
}

function countOf(task: Task | undefined): number {
  return task?.artifacts[0]?.parts.length ?? 0;
}

function textOf(task: Task | undefined): string {
  return (task?.artifacts[0]?.parts ?? []).map(({ content }) => (content.case === "text" ? content.value : "")).join("");
}
