/** How much a caller may have open at once on a replica. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { type Bed, errorOf, nextFrame, openBed, send, stateOf, taskOf } from "../bindings/bed.ts";
import type { Caller, CallOptions } from "../bindings/callers/caller.ts";
import { checkFailure } from "../bindings/failures.ts";
import { until } from "../redis/until.ts";

const TOKENS = { a: "alice", b: "bob" };
const as = (token: string): CallOptions => ({ headers: { authorization: `Bearer ${token}` } });
const WITHIN_MS = 20_000;

/** Opens one stream on each binding. */
async function openEach(bed: Bed, id: string): Promise<ReturnType<Caller["stream"]>[]> {
  const streams = bed.callers.map((caller) => caller.stream("SubscribeToTask", { id }, as("a")));
  for (const stream of streams) await nextFrame(stream);
  return streams;
}

suite("streams that a caller has open", () => {
  test("beyond its number are RESOURCE_EXHAUSTED on every binding, others' are not, and one that ends makes room", async () => {
    await using bed = await openBed({ tokens: TOKENS, limits: { streamsPerPrincipal: 5 } });
    const id = taskOf(await bed.rest.unary("SendMessage", send("input"), as("a")))["id"];
    const streams = await openEach(bed, id);
    for (const caller of bed.callers) {
      const { failure, headers } = await errorOf(caller.stream("SubscribeToTask", { id }, as("a")));
      assert.deepEqual(checkFailure(caller, failure, "RESOURCE_EXHAUSTED").metadata, { limit: "streams" });
      if (caller.binding !== "grpc") assert.equal(headers.get("retry-after"), "1");
      checkFailure(caller, (await errorOf(caller.stream("SubscribeToTask", { id }, as("b")))).failure, "TASK_NOT_FOUND");
    }
    for (const stream of streams) {
      stream.leave();
      await until("there is room", WITHIN_MS, async () => nextFrame(bed.grpc.stream("SubscribeToTask", { id }, as("a"))));
    }
  });

  test("of all callers together have a number too", async () => {
    await using bed = await openBed({ tokens: TOKENS, limits: { streams: 2 } });
    const id = taskOf(await bed.rest.unary("SendMessage", send("input"), as("a")))["id"];
    for (let at = 0; at < 2; at += 1) await nextFrame(bed.grpc.stream("SubscribeToTask", { id }, as("a")));
    checkFailure(bed.rest, (await errorOf(bed.rest.stream("SubscribeToTask", { id }, as("b")))).failure, "RESOURCE_EXHAUSTED");
  });
});

suite("calls that wait", () => {
  test("beyond a caller's number are RESOURCE_EXHAUSTED on every binding, and nothing begins", async () => {
    await using bed = await openBed({ tokens: TOKENS, limits: { callsPerPrincipal: 5 } });
    const gate = bed.agent.gate();
    const waiting = bed.callers.map((caller) => caller.unary("SendMessage", send(`slow ${gate.name}`), as("a")));
    const total = async (): Promise<unknown> => (await bed.rest.unary("ListTasks", {}, as("b")))["message"]["totalSize"];
    await until("all wait", WITHIN_MS, async () =>
      bed.rest.unary("ListTasks", {}, as("a")).then(
        () => false,
        () => true,
      ),
    );
    for (const caller of bed.callers) {
      const { failure } = await errorOf(caller.unary("SendMessage", send("complete"), as("a")));
      assert.deepEqual(checkFailure(caller, failure, "RESOURCE_EXHAUSTED").metadata, { limit: "calls" });
      assert.equal(await total(), undefined);
    }
    gate.open(bed.callers.length);
    for (const reply of waiting) assert.equal(stateOf(taskOf(await reply)), "TASK_STATE_COMPLETED");
    assert.equal((await bed.rest.unary("ListTasks", {}, as("a"))).message["totalSize"], 5);
  });
});
