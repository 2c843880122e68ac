/** A call, the turn that it brings about, and what goes out in its course are one trace, whatever happens to replicas. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { suite, test } from "node:test";
import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { type Agent, artifact, textPart } from "../../src/index.ts";
import { UNTRACED } from "../../src/core/tracing.ts";
import { workTracing } from "../../src/server/telemetry/work-spans.ts";
import { nextFrame, openBed, send, taskOf } from "../bindings/bed.ts";
import ticking from "../e2e/agents/ticking.ts";
import { Replica } from "../e2e/replica.ts";
import { ReplicaProcess } from "../e2e/replica-process.ts";
import { redisServer } from "../redis/redis-server.ts";
import { FrontBed } from "../upstream/front-bed.ts";
import { openWebhooks } from "../webhooks/webhook-bed.ts";
import { callersTrace, recordTelemetry } from "./recorded.ts";

const recorded = recordTelemetry();
const isTurn = ({ name }: { readonly name: string }): boolean => name === "a2a.turn";
const isCall = ({ kind }: { readonly kind: SpanKind }): boolean => kind === SpanKind.SERVER;

/** The trace and the span that a field names. */
function idsOf(traceparent: unknown): readonly (string | undefined)[] {
  return String(traceparent).split("-").slice(1, 3);
}

suite("one trace", () => {
  test("holds a call and its turn, with the turn below the call, over every binding", async () => {
    await using bed = await openBed();
    for (const caller of bed.callers) {
      const { traceId, headers } = callersTrace();
      const task = taskOf(await caller.unary("SendMessage", send("complete"), { headers }));
      const [turn, call] = [await recorded.until(traceId, isTurn), await recorded.until(traceId, isCall)];
      assert.equal(turn.parentSpanContext?.spanId, call.spanContext().spanId, caller.binding);
      assert.equal(turn.attributes["a2a.task.id"], task.id);
      assert.equal(turn.attributes["a2a.context.id"], task.contextId);
      assert.equal(turn.spanContext().traceState?.serialize(), "caller=1");
    }
  });

  test("holds a turn that throws, as a failure", async () => {
    await using bed = await openBed();
    const { traceId, headers } = callersTrace();
    await bed.grpc.unary("SendMessage", send("throw"), { headers });
    assert.equal((await recorded.until(traceId, isTurn)).status.code, SpanStatusCode.ERROR);
  });

  test("holds the deliveries to webhooks, and tells their receivers", async () => {
    await using hooks = await openWebhooks();
    const { traceId, headers } = callersTrace();
    const taskPushNotificationConfig = { id: "w", url: hooks.receiver.url() };
    const configuration = { returnImmediately: true, taskPushNotificationConfig };
    const { id } = taskOf(await hooks.bed.rest.unary("SendMessage", send("complete", { configuration }), { headers }));
    await hooks.untilState(id, "done");
    const told = hooks.receiver.received.map((one) => idsOf(one.headers["traceparent"]));
    assert.ok(told.length > 0);
    for (const [trace, span] of told) {
      assert.equal(trace, traceId);
      const delivery = await recorded.until(traceId, (one) => one.spanContext().spanId === span);
      assert.equal(delivery.name, "a2a.webhook");
      assert.equal(delivery.attributes["a2a.webhook.outcome"], "delivered");
    }
  });

  test("holds the calls of a front to its upstream, and the upstream's turn", async () => {
    for (const binding of ["GRPC", "HTTP+JSON", "JSONRPC"] as const) {
      await using bed = await FrontBed.open(binding);
      // The upstream is called by the turn, or before there is one.
      for (const [firstWordMs, caller] of [
        [0, isTurn],
        [60_000, isCall],
      ] as const) {
        const front = await bed.front({}, { firstWordMs });
        const { traceId, spanId, headers } = callersTrace();
        await front.client.send("complete", { headers });
        await recorded.until(traceId, () => recorded.spansOf(traceId).filter(isTurn).length === 2);
        const below = (id: string, fits: (span: ReadableSpan) => boolean): ReadableSpan =>
          recorded.spansOf(traceId).find((one) => fits(one) && one.parentSpanContext?.spanId === id) ?? assert.fail(`nothing below ${id}`);
        const call = below(spanId, isCall);
        const calling = caller === isTurn ? below(call.spanContext().spanId, isTurn) : call;
        const called = below(calling.spanContext().spanId, isCall);
        below(called.spanContext().spanId, isTurn);
      }
    }
  });

  test("is told to the agent, for what it calls itself", async () => {
    const told = Promise.withResolvers<unknown>();
    await using server = createServer((request, response) => {
      told.resolve(request.headers["traceparent"]);
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const agent: Agent = {
      card: { name: "caller", description: "Calls", version: "1", skills: [] },
      async *run({ trace }) {
        await fetch(`http://127.0.0.1:${port}`, { headers: { traceparent: trace?.traceparent ?? "" } });
        yield artifact({ artifactId: "a", parts: [textPart("called")] });
      },
    };
    const { serve } = await import("../../src/server/serve.ts");
    await using bed = await serve({ agent, grpcPort: 0, httpPort: 0, opsPort: 0 });
    const { traceId, headers } = callersTrace();
    await fetch(`http://127.0.0.1:${bed.ports.http}/message:send`, {
      method: "POST",
      headers: { "content-type": "application/json", "a2a-version": "1.0", ...headers },
      body: JSON.stringify(send("go")),
    });
    const [trace, span] = idsOf(await told.promise);
    assert.equal(trace, traceId);
    assert.equal((await recorded.until(traceId, isTurn)).spanContext().spanId, span);
  });

  test("goes through a replica without an SDK, is kept in the log, and holds the turn of the replica that takes over", async () => {
    await using redis = await redisServer();
    const lease = { "lease-ms": 300, "renew-ms": 100, "sweep-ms": 50 };
    await using a = await ReplicaProcess.start(redis.url, "a", lease);
    await using b = await Replica.open(redis.url, ticking, { replica: "b", leaseMs: 300, renewMs: 100, sweepMs: 50, capacity: 1 });
    const { traceId, spanId, headers } = callersTrace();
    const stream = a.grpc.stream("SendStreamingMessage", send("ticks 40 25"), { headers });
    await nextFrame(stream);
    await nextFrame(stream);
    a.signal("SIGKILL");
    const turn = await recorded.until(traceId, isTurn);
    assert.equal(turn.parentSpanContext?.spanId, spanId);
    assert.ok(Number(turn.attributes["a2a.turn.attempt"]) > 1);
    assert.equal(turn.spanContext().traceState?.serialize(), "caller=1");
    assert.equal(b.server.state, "serving");
  });
});

suite("work that begins long after its call", () => {
  const { headers, traceId, spanId } = callersTrace();
  const trace = headers;

  test("has a trace of its own, linked to the call's", () => {
    const work = workTracing().begin({ kind: "turn", taskId: "t", trace, since: Date.now() - 3_600_000 });
    work.ended("settled", false);
    const [own] = idsOf(work.trace?.traceparent);
    assert.notEqual(own, traceId);
    const [span] = recorded.spansOf(own ?? "");
    assert.equal(span?.parentSpanContext, undefined);
    assert.deepEqual(
      span?.links.map(({ context }) => [context.traceId, context.spanId]),
      [[traceId, spanId]],
    );
  });

  test("passes its trace on as it came where nobody records", () => {
    assert.equal(UNTRACED.begin({ kind: "turn", taskId: "t", trace, since: 0 }).trace, trace);
  });
});

suite("a task that goes on", () => {
  test("has each of its turns in the trace of the message that it answers", async () => {
    await using bed = await openBed();
    const [first, second] = [callersTrace(), callersTrace()];
    const { id: taskId } = taskOf(await bed.grpc.unary("SendMessage", send("input"), { headers: first.headers }));
    await recorded.until(first.traceId, isTurn);
    await bed.grpc.unary("SendMessage", send("complete", { message: { taskId } }), { headers: second.headers });
    await recorded.until(second.traceId, isTurn);
    assert.equal(recorded.spansOf(first.traceId).filter(isTurn).length, 1);
  });
});
