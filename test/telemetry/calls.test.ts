/** Every call of every binding is told of once: one span, one measurement. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { callStatus, connectError, withOlderCodes } from "../../src/rpc/errors.ts";
import { CallMetrics } from "../../src/server/telemetry/call-metrics.ts";
import { Tallies } from "../../src/server/telemetry/tallies.ts";
import { type Bed, collect, failureOf, message, nextFrame, openBed, send, startTask, taskOf } from "../bindings/bed.ts";
import type { Caller } from "../bindings/callers/caller.ts";
import { ACTIVE, after as comingAfter, idOf } from "../bindings/resume/positions.ts";
import { ScenarioAgent } from "../bindings/scenario-agent.ts";
import { callersTrace, countOf, recordTelemetry } from "./recorded.ts";

const recorded = recordTelemetry();
const SERVICE = "lf.a2a.v1.A2AService";
const SYSTEMS: Readonly<Record<string, string>> = {
  grpc: "grpc",
  connect: "connectrpc",
  "grpc-web": "grpc",
  rest: "http_json",
  "json-rpc": "jsonrpc",
};
const WAIT_MS = 5;

let bed: Bed;
const agent = new ScenarioAgent();

before(async () => {
  bed = await openBed({ tokens: { good: "alice" }, limits: { rates: { ListTasks: { perSecond: 0.000_1, burst: 1 } } } }, agent);
});
after(() => bed[Symbol.asyncDispose]());

const AUTH = { authorization: "Bearer good" };

/** How often a call was measured with these labels, in calls and in streams. */
async function counted(name: string, caller: Caller, method: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
  const all = { "rpc.system.name": SYSTEMS[caller.binding] ?? "", "rpc.method": `${SERVICE}/${method}`, ...labels };
  return countOf(await recorded.measured(name), all);
}

/** Waits until so much was counted: an end that nobody waits for. */
async function untilCounted(wanted: number, count: () => Promise<number>): Promise<void> {
  while ((await count()) < wanted) await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
  assert.equal(await count(), wanted);
}

for (const index of [0, 1, 2, 3, 4]) {
  suite(`calls over ${Object.keys(SYSTEMS)[index]}`, () => {
    const caller = (): Caller => bed.callers[index] as Caller;

    test("have a span below their caller's, and a measurement", async () => {
      const { traceId, spanId, headers } = callersTrace();
      const earlier = await counted("rpc.server.call.duration", caller(), "SendMessage", { "rpc.response.status_code": "OK" });
      const task = taskOf(await caller().unary("SendMessage", send("complete"), { headers: { ...AUTH, ...headers } }));
      const span = await recorded.until(traceId, ({ kind }) => kind === SpanKind.SERVER);
      assert.equal(span.name, `${SERVICE}/SendMessage`);
      assert.equal(span.parentSpanContext?.spanId, spanId);
      assert.equal(span.attributes["rpc.system.name"], SYSTEMS[caller().binding]);
      assert.equal(span.attributes["rpc.method"], `${SERVICE}/SendMessage`);
      assert.equal(span.attributes["rpc.response.status_code"], "OK");
      assert.equal(span.attributes["a2a.task.id"], task.id);
      assert.equal(span.attributes["a2a.context.id"], task.contextId);
      assert.equal(recorded.spansOf(traceId).filter(({ kind }) => kind === SpanKind.SERVER).length, 1);
      await untilCounted(earlier + 1, () =>
        counted("rpc.server.call.duration", caller(), "SendMessage", { "rpc.response.status_code": "OK" }),
      );
    });

    test("that are refused are told of with the reason, and are no failure of the server", async () => {
      const { traceId, headers } = callersTrace();
      const labels = { "rpc.response.status_code": "NOT_FOUND", "error.type": "TASK_NOT_FOUND" };
      const earlier = await counted("rpc.server.call.duration", caller(), "GetTask", labels);
      await failureOf(caller().unary("GetTask", { id: "nothing" }, { headers: { ...AUTH, ...headers } }));
      const span = await recorded.until(traceId, () => true);
      assert.equal(span.attributes["rpc.response.status_code"], "NOT_FOUND");
      assert.equal(span.attributes["error.type"], "TASK_NOT_FOUND");
      assert.equal(span.status.code, SpanStatusCode.UNSET);
      assert.equal(recorded.spansOf(traceId).length, 1);
      await untilCounted(earlier + 1, () => counted("rpc.server.call.duration", caller(), "GetTask", labels));
    });

    test("are told of where their callers are strangers, of a stream too", async () => {
      const { traceId, headers } = callersTrace();
      await failureOf(caller().unary("GetTask", { id: "nothing" }, { headers }));
      await failureOf(caller().stream("SendStreamingMessage", send("complete"), { headers }));
      await recorded.until(traceId, () => recorded.spansOf(traceId).length === 2);
      for (const span of recorded.spansOf(traceId)) assert.equal(span.attributes["error.type"], "UNAUTHENTICATED");
    });

    test("are told of where they come too often", async () => {
      const { traceId, headers } = callersTrace();
      const list = (): Promise<unknown> => caller().unary("ListTasks", {}, { headers: { ...AUTH, ...headers } });
      await list().catch(() => undefined);
      assert.equal((await failureOf(list())).reason, "RESOURCE_EXHAUSTED");
      const span = await recorded.until(traceId, ({ attributes }) => attributes["error.type"] === "RESOURCE_EXHAUSTED");
      assert.equal(span.attributes["rpc.method"], `${SERVICE}/ListTasks`);
    });

    test("that stream have a span of their opening, and count as active until they end", async () => {
      const gate = agent.gate();
      const { traceId, headers } = callersTrace();
      const active = (): Promise<number> => counted("a2a.server.active_streams", caller(), "SendStreamingMessage");
      const whole = (): Promise<number> => counted("a2a.stream.duration", caller(), "SendStreamingMessage", { end: "complete" });
      const calls = await counted("rpc.server.call.duration", caller(), "SendStreamingMessage", { "rpc.response.status_code": "OK" });
      const [open, done] = [await active(), await whole()];
      const stream = caller().stream("SendStreamingMessage", send(`slow ${gate.name}`), { headers: { ...AUTH, ...headers } });
      await nextFrame(stream);
      const span = await recorded.until(traceId, ({ kind }) => kind === SpanKind.SERVER);
      assert.equal(span.attributes["a2a.stream.start"], "send");
      assert.equal(await active(), open + 1);
      gate.open();
      await collect(stream);
      await untilCounted(done + 1, whole);
      assert.equal(await active(), open);
      assert.equal(recorded.spansOf(traceId).filter(({ kind }) => kind === SpanKind.SERVER).length, 1);
      const later = await counted("rpc.server.call.duration", caller(), "SendStreamingMessage", { "rpc.response.status_code": "OK" });
      assert.equal(later, calls, "a stream's length says nothing of how fast calls are answered");
    });

    test("that stream are told of where their reader leaves", async () => {
      const gate = agent.gate();
      const left = (): Promise<number> => counted("a2a.stream.duration", caller(), "SendStreamingMessage", { end: "left" });
      const earlier = await left();
      const stream = caller().stream("SendStreamingMessage", send(`slow ${gate.name}`), { headers: AUTH });
      await nextFrame(stream);
      stream.leave();
      await untilCounted(earlier + 1, left);
      gate.open();
    });

    test("that go on with a stream are told of by the reason", async () => {
      const gate = agent.gate();
      const by = (method: string, reason: string): Promise<number> => counted("a2a.stream.resumes", caller(), method, { reason });
      const earlier = {
        snapshot: await by("SubscribeToTask", "snapshot"),
        position: await by("SubscribeToTask", "position"),
        rewound: await by("SubscribeToTask", "rewound"),
        repeat: await by("SendStreamingMessage", "repeat"),
      };
      const said = message(`slow ${gate.name}`);
      const first = caller().stream("SendStreamingMessage", { message: said }, { headers: { ...AUTH, ...ACTIVE } });
      const last = idOf(await nextFrame(first));
      const id = last.slice(0, last.indexOf("/"));
      const again = [
        caller().stream("SubscribeToTask", { id }, { headers: AUTH }),
        caller().stream("SubscribeToTask", { id }, { headers: { ...AUTH, ...comingAfter(last).headers } }),
        // Of a history that the store does not have.
        caller().stream("SubscribeToTask", { id }, { headers: { ...AUTH, ...comingAfter(`${id}/1.00000000`).headers } }),
        caller().stream("SendStreamingMessage", { message: said }, { headers: AUTH }),
      ];
      for (const stream of again) await nextFrame(stream);
      gate.open();
      await Promise.all([first, ...again].map((stream) => collect(stream)));
      assert.equal(await by("SubscribeToTask", "snapshot"), earlier.snapshot + 1);
      assert.equal(await by("SubscribeToTask", "position"), earlier.position + 2);
      assert.equal(await by("SubscribeToTask", "rewound"), earlier.rewound + 1);
      assert.equal(await by("SendStreamingMessage", "repeat"), earlier.repeat + 1);
    });
  });
}

suite("calls that end before their time", () => {
  test("are told of as late where their deadline passes", async () => {
    const gate = agent.gate();
    const { traceId, headers } = callersTrace();
    const late = { ...AUTH, ...headers, "connect-timeout-ms": "100" };
    await failureOf(bed.connect.unary("SendMessage", send(`slow ${gate.name}`), { headers: late }));
    const span = await recorded.until(traceId, ({ kind }) => kind === SpanKind.SERVER);
    assert.equal(span.attributes["rpc.response.status_code"], "DEADLINE_EXCEEDED");
    assert.equal(span.status.code, SpanStatusCode.ERROR);
    gate.open();
  });

  test("are told of as drained, over every binding, where their replica goes away", async () => {
    await using draining = await openBed();
    const drained = (caller: Caller): Promise<number> => counted("a2a.stream.duration", caller, "SendStreamingMessage", { end: "drained" });
    // gRPC and gRPC-Web are one system.
    const callers = draining.callers.filter(({ binding }) => binding !== "grpc-web");
    const earlier = await Promise.all(callers.map(drained));
    const streams = callers.map((caller) => caller.stream("SendStreamingMessage", send("slow for-ever")));
    for (const stream of streams) await nextFrame(stream);
    const ends = Promise.all(streams.map((stream) => collect(stream)));
    await draining.server.drain({ atOnce: true });
    await ends;
    for (const [index, caller] of callers.entries()) await untilCounted((earlier[index] ?? 0) + 1, () => drained(caller));
  });
});

suite("JSON-RPC", () => {
  const post = (body: unknown, headers: Readonly<Record<string, string>>): Promise<Response> =>
    fetch(`http://127.0.0.1:${bed.server.ports.http}/jsonrpc`, {
      method: "POST",
      headers: { "content-type": "application/json", "a2a-version": "1.0", ...AUTH, ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  const get = (id: number): object => ({ jsonrpc: "2.0", id, method: "GetTask", params: { id: "nothing" } });

  test("has as many calls as a batch has requests", async () => {
    const { traceId, headers } = callersTrace();
    await (await post([get(1), get(2), { jsonrpc: "2.0", id: 3, method: "Nothing" }], headers)).text();
    await recorded.until(traceId, () => recorded.spansOf(traceId).length === 3);
    const methods = recorded.spansOf(traceId).map(({ attributes }) => attributes["rpc.method"]);
    assert.deepEqual(
      methods.toSorted((a, b) => String(a).localeCompare(String(b))),
      ["_OTHER", `${SERVICE}/GetTask`, `${SERVICE}/GetTask`],
    );
  });

  test("has one call of an unknown operation where a request cannot be read", async () => {
    const { traceId, headers } = callersTrace();
    await (await post("{", headers)).text();
    const span = await recorded.until(traceId, () => true);
    assert.equal(span.attributes["rpc.method"], "_OTHER");
    assert.equal(span.attributes["error.type"], "PARSE_ERROR");
    assert.equal(recorded.spansOf(traceId).length, 1);
  });
});

suite("a call without a trace", () => {
  test("begins one, whatever it sends in its place", async () => {
    const earlier = recorded.spans().length;
    await failureOf(bed.grpc.unary("GetTask", { id: "nothing" }, { headers: { ...AUTH, traceparent: "00-zz-zz-01" } }));
    const span = recorded.spans()[earlier];
    assert.ok(span !== undefined);
    assert.equal(span.parentSpanContext, undefined);
  });
});

suite("metrics", () => {
  test("have each status of a reason that has several, as with the codes of A2A 1.0.0", async () => {
    const metrics = CallMetrics.open(new Tallies());
    const call = {
      binding: "rest",
      service: SERVICE,
      operation: "DeleteTaskPushNotificationConfig",
      streams: false,
      trace: undefined,
    } as const;
    const refused = connectError("UNSUPPORTED_OPERATION", "no");
    for (const error of [refused, withOlderCodes(refused), undefined]) metrics?.ended(call, callStatus(error), 1);
    for (const status of ["FAILED_PRECONDITION", "UNIMPLEMENTED", "OK"]) {
      const labels = { "rpc.method": `${SERVICE}/${call.operation}`, "rpc.response.status_code": status };
      assert.equal(countOf(await recorded.measured("rpc.server.call.duration"), labels), 1, status);
    }
  });

  test("name no task, no context and nobody", async () => {
    const { id, contextId } = taskOf(await bed.rest.unary("SendMessage", send("complete"), { headers: AUTH }));
    await startTask(bed.rest, "complete").catch(() => undefined);
    const labels = (await recorded.measured()).flatMap((one) => Object.values(one.labels));
    assert.ok(labels.length > 20);
    for (const secret of [id, contextId, "alice", "good"]) assert.ok(!labels.includes(secret), secret);
  });
});
