/** What probes are told while Redis goes away and comes back, and in a drain. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { suite, test } from "node:test";
import { Health as HealthService, HealthCheckResponse_ServingStatus as Status } from "../../gen/health/v1/health_pb.ts";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { resolveOptions } from "../../src/server/options.ts";
import { Probes } from "../../src/server/probes.ts";
import { openBed, send } from "../bindings/bed.ts";
import type { CallFailed } from "../bindings/callers/caller.ts";
import { HttpClient } from "../bindings/callers/http.ts";
import { type Messages, SideCalls } from "../bindings/callers/side-calls.ts";
import { redisServer } from "../redis/redis-server.ts";
import { until } from "../redis/until.ts";
import { Replica } from "./replica.ts";
import ticking from "./agents/ticking.ts";

const { check, watch } = HealthService.method;
const WITHIN_MS = 60_000;
const NEVER_MS = 2 ** 30;

/** What a replica says on each of its ports. */
class Asked implements Disposable {
  readonly #http: HttpClient;
  readonly grpc: SideCalls;

  constructor({ grpc, ops }: { readonly grpc: number; readonly ops: number }) {
    this.#http = new HttpClient(ops);
    this.grpc = new SideCalls(grpc);
  }

  /** Status and body of a plain probe. */
  async http(target: string): Promise<readonly [number, unknown]> {
    const { status, text } = await this.#http.fetch({ method: "GET", target });
    return [status, JSON.parse(text)];
  }

  async service(service: string): Promise<Status> {
    return (await this.grpc.unary(check, { service })).status;
  }

  [Symbol.dispose](): void {
    this.#http.close();
    this.grpc[Symbol.dispose]();
  }
}

async function told(stream: Messages<typeof watch>): Promise<Status | undefined> {
  return (await stream.next())?.status;
}

/** Whether a port takes connections. */
async function listens(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false));
  const taken = await promise;
  socket.destroy();
  return taken;
}

suite("probes", { timeout: 180_000 }, () => {
  test("a Redis that is away takes a replica out only after its grace, ends no stream, and lets it in again at once", async () => {
    await using redis = await redisServer({ appendonly: "always" });
    await using patient = await Replica.open(redis.url, ticking, { replica: "patient", readinessGraceMs: NEVER_MS });
    await using hasty = await Replica.open(redis.url, ticking, { replica: "hasty", readinessGraceMs: 1500 });
    using ofPatient = new Asked(patient.server.ports);
    using ofHasty = new Asked(hasty.server.ports);
    const stream = hasty.grpc.stream("SendStreamingMessage", send("ticks 200 10"));
    await stream.next();
    using watched = ofHasty.grpc.stream(watch, { service: A2AService.typeName });
    assert.equal(await told(watched), Status.SERVING);

    const gone = performance.now();
    await redis.shutdown();
    assert.equal(await told(watched), Status.NOT_SERVING);
    assert.ok(performance.now() - gone >= 1500, "the grace was waited for");
    assert.deepEqual(await ofHasty.http("/readyz"), [503, { status: "not ready", reason: "store away" }]);
    assert.deepEqual(await ofPatient.http("/readyz"), [200, { status: "ready" }]);
    assert.equal(await ofPatient.service(""), Status.SERVING);
    // The store is away for both: what differs is what they say of it.
    for (const { grpc } of [patient, hasty])
      await assert.rejects(grpc.unary("ListTasks"), (error) => (error as CallFailed).failure.reason === "STORE_UNAVAILABLE");
    for (const asked of [ofPatient, ofHasty]) {
      assert.deepEqual(await asked.http("/livez"), [200, { status: "live" }]);
      assert.deepEqual(await asked.http("/startupz"), [200, { status: "started" }]);
      assert.deepEqual(await Promise.all(["liveness", "startup"].map((kind) => asked.service(kind))), [Status.SERVING, Status.SERVING]);
    }

    await redis.start();
    assert.equal(await told(watched), Status.SERVING);
    assert.deepEqual(await ofHasty.http("/readyz"), [200, { status: "ready" }]);
    let ticks = 0;
    for await (const { payload } of stream) if (payload.case === "artifactUpdate") ticks += 1;
    assert.equal(ticks, 200, "the stream went on where it stood");
  });

  test("a Redis that is back before the grace is over was never told of", async () => {
    await using redis = await redisServer();
    await using replica = await Replica.open(redis.url, ticking, { replica: "one", readinessGraceMs: NEVER_MS });
    using asked = new Asked(replica.server.ports);
    using watched = asked.grpc.stream(watch, {});
    assert.equal(await told(watched), Status.SERVING);
    const next = told(watched);
    await redis.shutdown();
    await until("calls are refused", WITHIN_MS, () =>
      replica.grpc.unary("ListTasks").then(
        () => false,
        () => true,
      ),
    );
    await redis.start();
    await until("calls are answered", WITHIN_MS, async () => (await replica.grpc.unary("ListTasks")) !== undefined);
    // What was told next is the end of the service, not a moment without Redis.
    await replica.server.drain({ atOnce: true });
    assert.equal(await next, Status.NOT_SERVING);
    await assert.rejects(watched.next());
  });

  test("a drain is told with its reason, and by readiness only", async () => {
    await using bed = await openBed({ drainDelayMs: NEVER_MS });
    using asked = new Asked(bed.server.ports);
    const skip = new AbortController();
    const drained = bed.server.drain({ skip: skip.signal });
    assert.deepEqual(await asked.http("/readyz"), [503, { status: "not ready", reason: "draining" }]);
    assert.deepEqual(await Promise.all(["", "liveness", "startup"].map((kind) => asked.service(kind))), [
      Status.NOT_SERVING,
      Status.SERVING,
      Status.SERVING,
    ]);
    assert.deepEqual([(await asked.http("/livez"))[0], (await asked.http("/startupz"))[0]], [200, 200]);
    skip.abort();
    await drained;
  });

  test("probes are answered for as long as a turn runs on in a drain, when no port takes calls any more", async () => {
    await using bed = await openBed({ drainMs: NEVER_MS });
    const gate = bed.agent.gate();
    await bed.rest.unary("SendMessage", send(`slow ${gate.name}`, { configuration: { returnImmediately: true } }));
    for (const caller of bed.callers) caller.close();
    const drained = bed.server.drain({ atOnce: true });
    const { grpc, http } = bed.server.ports;
    for (const port of [grpc, http]) await until("no calls are taken", WITHIN_MS, async () => !(await listens(port)));
    using asked = new Asked(bed.server.ports);
    assert.deepEqual(await asked.http("/readyz"), [503, { status: "not ready", reason: "draining" }]);
    assert.deepEqual(await asked.http("/livez"), [200, { status: "live" }]);
    gate.open();
    await drained;
    assert.equal(await listens(bed.server.ports.ops), false);
  });

  test("a server that starts is live, and neither started nor ready", () => {
    const probes = new Probes({ state: () => "starting", available: () => true, readinessGraceMs: 0 });
    assert.deepEqual([probes.live(), probes.started(), probes.unready()], [true, false, "starting"]);
  });

  test("connections of HTTP/1.1 outlive the pools of usual proxies, and callers are told for how long", async () => {
    assert.equal(resolveOptions({}).idleConnectionMs, 75_000);
    await using bed = await openBed();
    const { http, ops } = bed.server.ports;
    for (const [port, target] of [
      [http, "/.well-known/agent-card.json"],
      [ops, "/livez"],
    ] as const) {
      const client = new HttpClient(port);
      const { headers } = await client.fetch({ method: "GET", target });
      assert.equal(headers.get("keep-alive"), "timeout=75");
      client.close();
    }
  });
});
