import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Server, ServerCredentials, status as Code, type ServiceError } from "@grpc/grpc-js";
import { Health as HealthService, HealthCheckResponse_ServingStatus as Status } from "../../../gen/health/v1/health_pb.ts";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { Health } from "../../../src/bindings/grpc/health.ts";
import { listenGrpc } from "../../../src/bindings/grpc/server.ts";
import { resolveOptions } from "../../../src/server/options.ts";
import { MemoryStorage } from "../../../src/storage/memory/memory-storage.ts";
import { openBed, sharedBed } from "../bed.ts";
import { HttpClient } from "../callers/http.ts";
import { type Messages, SideCalls } from "../callers/side-calls.ts";

const { check, list, watch } = HealthService.method;
/** The server, its service, and the names by which the probes of Kubernetes tell their kind. */
const SERVICES = ["", A2AService.typeName, "liveness", "startup"];

/** A store that can be told to be away. */
class FlakyStorage extends MemoryStorage {
  up = true;

  constructor() {
    super(resolveOptions({}));
  }

  override available(): boolean {
    return this.up && super.available();
  }
}

async function next(stream: Messages<typeof watch>): Promise<Status> {
  return (await stream.next())?.status ?? assert.fail("the stream has ended");
}

function refusedWith(code: Code): (error: unknown) => boolean {
  return (error) => (error as ServiceError).code === code;
}

suite("gRPC health", { timeout: 60_000 }, () => {
  // Probes know neither tokens nor versions.
  const storage = new FlakyStorage();
  const bed = sharedBed({ tokens: { t: "alice" }, storage, readinessGraceMs: 0 });

  test("PR-13 says SERVING for the server and its service to everybody", async () => {
    using calls = new SideCalls(bed().server.ports.grpc);
    for (const service of SERVICES) assert.equal((await calls.unary(check, { service })).status, Status.SERVING);
    const { statuses } = await calls.unary(list, {});
    assert.deepEqual(
      Object.entries(statuses).map(([service, { status }]) => [service, status]),
      SERVICES.map((service) => [service, Status.SERVING]),
    );
  });

  test("knows no other service: Check is refused, Watch says so and stays open", async () => {
    using calls = new SideCalls(bed().server.ports.grpc);
    await assert.rejects(calls.unary(check, { service: "lf.a2a.v1.Other" }), refusedWith(Code.NOT_FOUND));
    using unknown = calls.stream(watch, { service: "lf.a2a.v1.Other" });
    assert.equal(await next(unknown), Status.SERVICE_UNKNOWN);
    using known = calls.stream(watch, {});
    assert.equal(await next(known), Status.SERVING);
    const more = next(unknown);
    storage.up = false;
    assert.equal(await next(known), Status.NOT_SERVING);
    storage.up = true;
    assert.equal(await next(known), Status.SERVING);
    const open = Symbol("open");
    assert.equal(await Promise.race([more, Promise.resolve(open)]), open, "neither ended nor told of what it did not ask for");
    more.catch(() => undefined);
  });

  test("says the same as /readyz when the store goes and comes back, and tells each watcher of each change once", async () => {
    const { ports } = bed().server;
    using calls = new SideCalls(ports.grpc);
    const ops = new HttpClient(ports.ops);
    try {
      using server = calls.stream(watch, {});
      using service = calls.stream(watch, { service: A2AService.typeName });
      const seen: Status[] = [];
      for (const up of [true, false, true, false, true]) {
        storage.up = up;
        seen.push(await next(server));
        assert.equal(await next(service), seen.at(-1));
        assert.equal((await calls.unary(check, {})).status, seen.at(-1));
        assert.equal((await ops.fetch({ method: "GET", target: "/readyz" })).status, up ? 200 : 503);
      }
      const { SERVING, NOT_SERVING } = Status;
      assert.deepEqual(seen, [SERVING, NOT_SERVING, SERVING, NOT_SERVING, SERVING]);
    } finally {
      ops.close();
      storage.up = true;
    }
  });

  test("a request that is no message is refused as bad input", async () => {
    using calls = new SideCalls(bed().server.ports.grpc);
    for (const { name } of [check, watch]) {
      await assert.rejects(calls.bytes(`/grpc.health.v1.Health/${name}`, Buffer.of(0x0a, 0xff)), refusedWith(Code.INVALID_ARGUMENT));
    }
  });
});

test("PR-13 a drain is told at once, while the replica still takes calls, and then ends the watchers", { timeout: 60_000 }, async () => {
  await using bed = await openBed({ drainDelayMs: 2 ** 30 });
  using calls = new SideCalls(bed.server.ports.grpc);
  using known = calls.stream(watch, {});
  using unknown = calls.stream(watch, { service: "x" });
  assert.deepEqual([await next(known), await next(unknown)], [Status.SERVING, Status.SERVICE_UNKNOWN]);
  const skip = new AbortController();
  const drained = bed.server.drain({ skip: skip.signal });
  assert.equal(await next(known), Status.NOT_SERVING);
  // Others may still ask.
  using late = calls.stream(watch, {});
  assert.equal(await next(late), Status.NOT_SERVING);
  assert.equal((await calls.unary(check, {})).status, Status.NOT_SERVING);
  skip.abort();
  for (const stream of [known, unknown, late]) await assert.rejects(next(stream), refusedWith(Code.UNAVAILABLE));
  await drained;
});

test("nobody who watches holds up a drain", { timeout: 60_000 }, async () => {
  // What is not ended by itself is cut only then.
  await using bed = await openBed({ stallFlushMs: 2_000_000_000 });
  using calls = new SideCalls(bed.server.ports.grpc);
  const streams = [...SERVICES, "x"].map((service) => calls.stream(watch, { service }));
  for (const stream of streams) await next(stream);
  await bed.server.drain({ atOnce: true });
  for (const stream of streams) stream[Symbol.dispose]();
});

test("no more may watch than a bound says, and those who leave make room", { timeout: 60_000 }, async () => {
  const server = new Server();
  new Health({ "": () => true }, 2).addTo(server);
  using calls = new SideCalls(await listenGrpc(server, "127.0.0.1:0", ServerCredentials.createInsecure()));
  try {
    const first = calls.stream(watch, {});
    using second = calls.stream(watch, {});
    assert.deepEqual([await next(first), await next(second)], [Status.SERVING, Status.SERVING]);
    await assert.rejects(next(calls.stream(watch, {})), refusedWith(Code.RESOURCE_EXHAUSTED));
    assert.equal((await calls.unary(check, {})).status, Status.SERVING);
    first[Symbol.dispose]();
    for (;;) {
      using third = calls.stream(watch, {});
      const told = await next(third).catch((error: unknown) => assert.ok(refusedWith(Code.RESOURCE_EXHAUSTED)(error)));
      if (told === Status.SERVING) break;
    }
  } finally {
    server.forceShutdown();
  }
});
