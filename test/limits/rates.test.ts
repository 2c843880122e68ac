/** How often a caller may call, over all replicas. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Spender } from "../../src/core/spender.ts";
import type { Quotas } from "../../src/core/quotas.ts";
import { TaskError } from "../../src/core/errors.ts";
import { callersByCredentials } from "../../src/upstream/callers-by-credentials.ts";
import { errorOf, openBed } from "../bindings/bed.ts";
import type { Caller, CallOptions } from "../bindings/callers/caller.ts";
import { checkFailure } from "../bindings/failures.ts";
import { call, OPERATIONS } from "../bindings/matrix/operations.ts";
import { fileRedis } from "../redis/file-redis.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";
import { until } from "../redis/until.ts";

const TOKENS = { a: "alice", b: "bob" };
/** None comes back while a test runs. */
const rate = (burst: number): { perSecond: number; burst: number } => ({ perSecond: 0.001, burst });
const as = (token: string): CallOptions => ({ headers: { authorization: `Bearer ${token}` } });
const WITHIN_MS = 20_000;

/** How many of so many calls were refused for their number; any other error is one. */
async function refusals(callers: readonly Caller[], times: number, options: CallOptions): Promise<number> {
  const calls = Array.from({ length: times }, async (_, at) => {
    const caller = callers[at % callers.length] as Caller;
    return caller.unary("ListTasks", {}, options).then(
      () => 0,
      (error: unknown) => {
        assert.match(String(error), /RESOURCE_EXHAUSTED/);
        return 1;
      },
    );
  });
  return (await Promise.all(calls)).reduce((sum, refused) => sum + refused, 0);
}

suite("the rate of a caller", () => {
  test("R-357 each operation of each binding beyond it is RESOURCE_EXHAUSTED, with the time after which to try again, before its fields are judged", async () => {
    await using bed = await openBed({ tokens: TOKENS, push: { enabled: true }, limits: { rates: { "*": rate(1) } } });
    // The first of each operation is let through, whatever becomes of it.
    for (const operation of OPERATIONS)
      await errorOf(call(bed.grpc, operation, {}, { headers: { ...as("a").headers, "a2a-version": "0" } }));
    for (const caller of bed.callers) {
      for (const operation of OPERATIONS) {
        const { failure, headers } = await errorOf(call(caller, operation, operation.request("x"), as("a")));
        const { metadata } = checkFailure(caller, failure, "RESOURCE_EXHAUSTED");
        assert.deepEqual(metadata, { limit: "rate", operation: operation.name });
        if (caller.binding !== "grpc") assert.ok(Number(headers.get("retry-after")) > 900, `${caller.binding} ${operation.name}`);
      }
    }
  });

  test("is that of its operation, else that of all; who has none of both is not counted", async () => {
    await using bed = await openBed({ tokens: TOKENS, limits: { rates: { ListTasks: rate(3), GetTask: rate(1) } } });
    assert.equal(await refusals(bed.callers, 10, as("a")), 7);
    for (let at = 0; at < 5; at += 1)
      checkFailure(bed.rest, (await errorOf(bed.rest.unary("CancelTask", { id: "x" }, as("a")))).failure, "TASK_NOT_FOUND");
  });

  test("leaves other callers theirs", async () => {
    await using bed = await openBed({ tokens: TOKENS, limits: { rates: { "*": rate(5) } } });
    assert.equal(await refusals(bed.callers, 50, as("a")), 45);
    assert.equal(await refusals(bed.callers, 5, as("b")), 0);
  });

  test("is not spent by those who are not let in", async () => {
    await using bed = await openBed({ tokens: TOKENS, limits: { rates: { "*": rate(1) } } });
    for (const caller of bed.callers)
      checkFailure(caller, (await errorOf(caller.unary("ListTasks", {}, as("wrong")))).failure, "UNAUTHENTICATED");
    assert.equal(await refusals([bed.grpc], 1, as("a")), 0);
  });

  test("counts each request of a JSON-RPC batch", async () => {
    await using bed = await openBed({ limits: { rates: { ListTasks: rate(3) } } });
    const batch = Array.from({ length: 5 }, (_, id) => ({ jsonrpc: "2.0", id, method: "ListTasks", params: {} }));
    const response = await fetch(`http://127.0.0.1:${bed.server.ports.http}/jsonrpc`, {
      method: "POST",
      headers: { "content-type": "application/json", "a2a-version": "1.0" },
      body: JSON.stringify(batch),
    });
    const answers = (await response.json()) as { error?: { code: number } }[];
    assert.deepEqual(Map.groupBy(answers, ({ error }) => error?.code ?? 0).get(-31429)?.length, 2);
    assert.equal(answers.length, 5);
  });

  test("is that of an address where callers are not told apart", async () => {
    await using bed = await openBed({ limits: { rates: { ListTasks: rate(2) } } });
    assert.equal(await refusals(bed.callers, 5, {}), 3);
  });

  test("is that of an address where nobody vouches for who callers say that they are", async () => {
    const authenticate = callersByCredentials(["authorization"]);
    await using bed = await openBed({ authenticate, limits: { rates: { ListTasks: rate(2) } } });
    const refused = await Promise.all(Array.from({ length: 5 }, (_, at) => refusals([bed.rest], 1, as(`made-up-${at}`))));
    assert.equal(refused.filter((count) => count === 1).length, 3);
  });

  test("is one for all replicas of a Redis", async () => {
    const redis = await fileRedis();
    const init = { tokens: TOKENS, redis, limits: { rates: { ListTasks: rate(20) } } };
    await using one = await openBed({ ...init, replica: "one" });
    await using other = await openBed({ ...init, replica: "other" });
    assert.equal(await refusals([...one.callers, ...other.callers], 100, as("a")), 80);
    assert.equal(await refusals([...one.callers, ...other.callers], 20, as("b")), 0);
  });

  test("refuses nobody while Redis is away", async () => {
    const { url, prefix } = await fileRedis();
    await using proxy = await TcpProxy.open({ port: Number(new URL(url).port) });
    await using bed = await openBed({ redis: { url: proxy.url, prefix }, limits: { rates: { GetExtendedAgentCard: rate(1) } } });
    proxy.refuse();
    proxy.cut();
    await until("the store is away", WITHIN_MS, () => errorOf(bed.grpc.unary("GetTask", { id: "x" })));
    // This operation asks the store for nothing.
    for (const caller of [...bed.callers, ...bed.callers])
      checkFailure(caller, (await errorOf(caller.unary("GetExtendedAgentCard"))).failure, "UNSUPPORTED_OPERATION");
    await proxy.accept();
  });
});

suite("a spender", () => {
  test("asks the store for all who wait at once, and for nobody while the quota is empty", async () => {
    const asked: number[] = [];
    const first = Promise.withResolvers<void>();
    const quotas: Quotas = {
      spend: async (_key, _quota, most) => {
        asked.push(most);
        if (asked.length === 1) await first.promise;
        return { granted: Math.min(most, 3), retryAfterMs: most > 3 ? 60_000 : 0 };
      },
    };
    const spender = new Spender(quotas);
    const takes = Array.from({ length: 6 }, async () => spender.take("a", rate(4)));
    first.resolve();
    const waits = await Promise.all(takes);
    assert.deepEqual(asked, [1, 5]);
    assert.deepEqual(
      waits.map((wait) => wait !== undefined),
      [false, false, false, false, true, true],
    );
    assert.ok(((await spender.take("a", rate(4))) ?? 0) > 50_000);
    assert.equal(asked.length, 2);
  });

  test("grants what a store that is away cannot count, and leaves it alone for a while", async () => {
    let asked = 0;
    const away = new TaskError("STORE_UNAVAILABLE", "away");
    const spender = new Spender({
      spend: () => {
        asked += 1;
        return Promise.reject(away);
      },
    });
    for (let at = 0; at < 10; at += 1) assert.equal(await spender.take("a", rate(1)), undefined);
    assert.equal(asked, 1);
  });
});
