/** How many tasks of an owner are at work at once, and how many parts a message may have. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { RunningTurns } from "../../src/service/running-turns.ts";
import { errorOf, failureOf, openBed, send, startTask, stateOf, taskOf } from "../bindings/bed.ts";
import type { CallOptions } from "../bindings/callers/caller.ts";
import { checkFailure } from "../bindings/failures.ts";
import { fileRedis } from "../redis/file-redis.ts";
import { until } from "../redis/until.ts";

const TOKENS = { a: "alice", b: "bob" };
const as = (token: string): CallOptions => ({ headers: { authorization: `Bearer ${token}` } });
const NOW = { configuration: { returnImmediately: true } };
const WITHIN_MS = 20_000;

suite("turns of an owner", () => {
  test("beyond their number a send is RESOURCE_EXHAUSTED on every binding before anything begins, on all replicas; interrupted tasks do not count", async () => {
    const redis = await fileRedis();
    const init = { tokens: TOKENS, redis, limits: { turnsPerPrincipal: 4 } };
    await using one = await openBed({ ...init, replica: "one" });
    await using other = await openBed({ ...init, replica: "other" });
    const gate = one.agent.gate();
    other.agent.gate();
    for (let count = 0; count < 3; count += 1) await one.rest.unary("SendMessage", send("input"), as("a"));
    const ids: string[] = [];
    for (const bed of [one, other]) {
      for (let count = 0; count < 2; count += 1)
        ids.push(taskOf(await bed.rest.unary("SendMessage", send(`slow ${gate.name}`, NOW), as("a"))).id);
    }
    for (const bed of [one, other]) {
      for (const caller of bed.callers) {
        const { failure, headers } = await errorOf(caller.unary("SendMessage", send("complete"), as("a")));
        assert.deepEqual(checkFailure(caller, failure, "RESOURCE_EXHAUSTED").metadata, { limit: "turns" });
        if (caller.binding !== "grpc") assert.equal(headers.get("retry-after"), "1");
        checkFailure(caller, await failureOf(caller.stream("SendStreamingMessage", send("complete"), as("a"))), "RESOURCE_EXHAUSTED");
      }
    }
    assert.equal((await one.grpc.unary("ListTasks", {}, as("a"))).message["totalSize"], 7);
    assert.equal(stateOf(taskOf(await one.grpc.unary("SendMessage", send("complete"), as("b")))), "TASK_STATE_COMPLETED");
    await one.grpc.unary("CancelTask", { id: ids[0] as string }, as("a"));
    const sent = await until("there is room", WITHIN_MS, () => other.grpc.unary("SendMessage", send("complete"), as("a")));
    assert.equal(stateOf(taskOf(sent)), "TASK_STATE_COMPLETED");
  });

  test("a message to a task that waits for its caller counts, and is refused beyond their number", async () => {
    await using bed = await openBed({ limits: { turnsPerPrincipal: 1 } });
    const gate = bed.agent.gate();
    const { id } = taskOf(await bed.rest.unary("SendMessage", send("input")));
    const running = await startTask(bed.rest, `slow ${gate.name}`);
    for (const caller of bed.callers) {
      const failure = await failureOf(caller.unary("SendMessage", send("more", { message: { taskId: id } })));
      assert.deepEqual(checkFailure(caller, failure, "RESOURCE_EXHAUSTED").metadata, { limit: "turns" });
    }
    assert.equal(stateOf((await bed.rest.unary("GetTask", { id })).message), "TASK_STATE_INPUT_REQUIRED");
    await bed.rest.unary("CancelTask", { id: running });
    await until("there is room", WITHIN_MS, () => bed.rest.unary("SendMessage", send("more", { message: { taskId: id } })));
  });

  test("are counted once in a while, not for each send", async () => {
    let lists = 0;
    let total = 0;
    const turns = new RunningTurns(
      {
        list: async () => {
          lists += 1;
          return { rows: [], total: total / 2, more: false };
        },
      },
      80,
    );
    const scope = { tenant: "", owner: "a" };
    for (let count = 0; count < 40; count += 1) {
      await turns.begin(scope);
      total += 1;
    }
    assert.equal(lists, 2 * 4);
    total = 80;
    for (let count = 0; count < 10; count += 1) await turns.begin(scope).catch(() => undefined);
    await Promise.all(Array.from({ length: 20 }, async () => assert.rejects(() => turns.begin(scope), /RESOURCE|at work/)));
    assert.equal(lists, 2 * 5);
  });
});

suite("parts of a message", () => {
  test("R-251 beyond their number are INVALID_ARGUMENT, and their field is named", async () => {
    await using bed = await openBed({ limits: { partsPerMessage: 3 } });
    const parts = (count: number): { parts: { text: string }[] } => ({
      parts: Array.from({ length: count }, () => ({ text: "complete" })),
    });
    for (const caller of bed.callers) {
      await caller.unary("SendMessage", send("", { message: parts(3) }));
      const failure = await failureOf(caller.unary("SendMessage", send("", { message: parts(4) })));
      checkFailure(caller, failure, "INVALID_ARGUMENT", ["message.parts"]);
    }
  });
});
