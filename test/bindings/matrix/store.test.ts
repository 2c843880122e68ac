/** What every operation answers while the store is away, or broken. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { type Log, SILENT } from "../../../src/core/telemetry.ts";
import { resolveOptions } from "../../../src/server/options.ts";
import { MemoryStorage } from "../../../src/storage/memory/memory-storage.ts";
import { fileRedis } from "../../redis/file-redis.ts";
import { TcpProxy } from "../../redis/tcp-proxy.ts";
import { until } from "../../redis/until.ts";
import { type Bed, collect, errorOf, nextFrame, openBed, send, startTask } from "../bed.ts";
import type { CallFailed, Caller } from "../callers/caller.ts";
import { failingStorage } from "../failing-storage.ts";
import { checkFailure } from "../failures.ts";
import { call, OPERATIONS } from "./operations.ts";

/** Those that ask the store for something. */
const ASKING = OPERATIONS.filter(({ name }) => name !== "GetExtendedAgentCard");
const PUSH = { push: { enabled: true } };
const WITHIN_MS = 20_000;

/** What each operation fails with over each binding. */
async function failures(bed: Bed, id: string): Promise<{ caller: Caller; name: string; error: CallFailed }[]> {
  const calls = bed.callers.flatMap((caller) =>
    ASKING.map(async (operation) => ({
      caller,
      name: operation.name,
      error: await errorOf(call(caller, operation, operation.request(id))),
    })),
  );
  return Promise.all(calls);
}

suite("a store that is away", () => {
  test("R-252 R-253 every operation says so at once and when to ask again, and is served once it is back", async () => {
    const { url, prefix } = await fileRedis();
    await using proxy = await TcpProxy.open({ port: Number(new URL(url).port) });
    await using bed = await openBed({ ...PUSH, redis: { url: proxy.url, prefix } });
    const id = await startTask(bed.grpc, "input");
    proxy.refuse();
    proxy.cut();
    await until("the store is away", WITHIN_MS, () => errorOf(bed.grpc.unary("GetTask", { id })));
    for (const { caller, name, error } of await failures(bed, id)) {
      const { metadata } = checkFailure(caller, error.failure, "STORE_UNAVAILABLE");
      assert.deepEqual(metadata, {}, name);
      if (caller.binding !== "grpc") assert.equal(error.headers.get("retry-after"), "1", `${caller.binding} ${name}`);
    }
    await proxy.accept();
    await until("the store is back", WITHIN_MS, () => bed.grpc.unary("GetTask", { id }));
    for (const caller of bed.callers) {
      const stream = caller.stream("SendStreamingMessage", send("complete"));
      assert.equal((await collect(stream)).end, "clean");
      await nextFrame(caller.stream("SubscribeToTask", { id }));
    }
  });
});

suite("a store that breaks", () => {
  test("R-252 every operation is an internal error that tells nothing; the server's log tells all", async () => {
    const { storage, fail } = failingStorage(new MemoryStorage(resolveOptions({})));
    const told: unknown[] = [];
    const log: Log = { ...SILENT, error: ({ error }) => void told.push(error) };
    await using bed = await openBed({ ...PUSH, storage, log });
    const id = await startTask(bed.grpc, "input");
    const error = new Error("a secret of the store", { cause: "secret" });
    fail(error);
    const failed = await failures(bed, id);
    fail();
    for (const {
      caller,
      name,
      error: { failure },
    } of failed) {
      checkFailure(caller, failure, "INTERNAL");
      assert.ok(!JSON.stringify(failure).includes("secret"), name);
    }
    assert.equal(told.length, failed.length);
    for (const one of told) assert.equal(one, error);
  });
});

suite("a store that is full", () => {
  test("R-253 R-370 sends are refused on every binding, with when to try again; what is there goes on, and makes room when it has ended", async () => {
    await using bed = await openBed({ maxBytes: 20_000 });
    const gate = bed.agent.gate();
    const ids: string[] = [];
    const fill = async (): Promise<CallFailed> => {
      for (;;) ids.push(await startTask(bed.grpc, `slow ${gate.name}`, { message: { metadata: { pad: "x".repeat(2000) } } }));
    };
    assert.equal((await errorOf(fill())).failure.reason, "RESOURCE_EXHAUSTED");
    for (const caller of bed.callers) {
      const request = send("complete", { message: { metadata: { pad: "x".repeat(2000) } } });
      for (const refused of [caller.unary("SendMessage", request), caller.stream("SendStreamingMessage", request)]) {
        const { failure, headers } = await errorOf(refused);
        checkFailure(caller, failure, "RESOURCE_EXHAUSTED");
        if (caller.binding !== "grpc") assert.equal(headers.get("retry-after"), "1");
      }
      const { message } = await caller.unary("ListTasks");
      assert.equal(message["totalSize"], ids.length);
    }
    gate.open(ids.length);
    for (const caller of bed.callers) await until("there is room", WITHIN_MS, () => caller.unary("SendMessage", send("complete")));
  });
});
