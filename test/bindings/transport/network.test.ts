/** Connections that fail, and servers that are away. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { pipeline } from "node:stream";
import { suite, test } from "node:test";
import { Code, type ConnectError } from "@connectrpc/connect";
import { createGrpcTransport } from "../../../src/bindings/grpc/transport.ts";
import { TaskError } from "../../../src/core/errors.ts";
import { until } from "../../redis/until.ts";
import { HookedStorage } from "../hooked-storage.ts";
import { openBed } from "../bed.ts";
import { ProxiedBed } from "./proxied-bed.ts";
import { client, factsOf, sendOf, taskFor, watch, WAYS } from "./ways.ts";

suite("a connection that is cut", () => {
  for (const way of WAYS) {
    test(`in mid-stream is UNAVAILABLE after what came before, and the next call goes on (${way.name})`, async () => {
      await using proxied = await ProxiedBed.open();
      const gate = proxied.bed.agent.gate();
      using opened = client(way.open(proxied.ports));
      const id = await taskFor(opened.client, `slow ${gate.name}`);
      const stream = opened.client.subscribeToTask({ id })[Symbol.asyncIterator]();
      const frames = [await stream.next()];
      await gate.reached;
      proxied.proxy(way).cut();
      const facts = await factsOf({ [Symbol.asyncIterator]: () => stream });
      assert.deepEqual([facts.code, facts.reason, facts.unreached], [Code.Unavailable, "UNAVAILABLE", false], facts.message);
      assert.equal(frames[0]?.value?.payload.case, "task");
      const again = opened.client.subscribeToTask({ id })[Symbol.asyncIterator]();
      assert.equal((await again.next()).value?.payload.case, "task");
      gate.open();
      assert.deepEqual(await watch({ [Symbol.asyncIterator]: () => again }), { frames: ["status COMPLETED"], end: "clean" });
    });

    test(`while a send waits is UNAVAILABLE, and the task can be found (${way.name})`, async () => {
      await using proxied = await ProxiedBed.open();
      const gate = proxied.bed.agent.gate();
      using opened = client(way.open(proxied.ports));
      const contextId = crypto.randomUUID();
      const call = opened.client.sendMessage({ message: { ...sendOf(`slow ${gate.name}`).message, contextId } });
      const failed = assert.rejects(call, (error: ConnectError) => error.code === Code.Unavailable);
      await gate.reached;
      proxied.proxy(way).cut();
      await failed;
      const { tasks } = await opened.client.listTasks({ contextId });
      assert.equal(tasks.length, 1);
      gate.open();
    });
  }
});

suite("a server that is away", () => {
  for (const way of WAYS) {
    test(`is UNAVAILABLE and was not reached; when it is back the same transport reaches it (${way.name})`, async () => {
      await using proxied = await ProxiedBed.open();
      const proxy = proxied.proxy(way);
      using opened = client(way.open(proxied.ports));
      proxy.refuse();
      for (const call of [opened.client.getTask({ id: "x" }), opened.client.subscribeToTask({ id: "x" })]) {
        const { code, unreached, message } = await factsOf(call);
        assert.deepEqual([code, unreached], [Code.Unavailable, true], message);
      }
      await proxy.accept();
      // gRPC waits a little before it tries again.
      const reached = await until("the server is reached", 20_000, async () => {
        const facts = await factsOf(opened.client.getTask({ id: "x" }));
        return !facts.unreached && facts;
      });
      assert.equal(reached.reason, "TASK_NOT_FOUND");
    });

    test(`is not reached where its name means nothing (${way.name})`, async () => {
      const ports = { grpc: 1, http: 1 };
      using opened = client(way.open(ports, { url: "http://no-such-host.invalid:1/" }));
      const { code, unreached, message } = await factsOf(opened.client.getTask({ id: "x" }));
      assert.deepEqual([code, unreached], [Code.Unavailable, true], message);
    });

    test(`is not reached where it accepts and says nothing for connectTimeoutMs (${way.name})`, async () => {
      const sockets = new Set<Socket>();
      const silent = createServer((socket) => sockets.add(socket.on("error", () => undefined)));
      await once(silent.listen(0, "127.0.0.1"), "listening");
      const { port } = silent.address() as AddressInfo;
      try {
        // TLS is to be spoken first: without it some protocols count as connected here.
        using opened = client(way.open({ grpc: port, http: port }, { connectTimeoutMs: 300 }, "https"));
        for (const call of [opened.client.getTask({ id: "x" }), opened.client.subscribeToTask({ id: "x" })]) {
          const { code, unreached, message } = await factsOf(call);
          assert.deepEqual([code, unreached], [Code.Unavailable, true], message);
        }
      } finally {
        silent.close();
        for (const socket of sockets) socket.destroy();
      }
    });
  }
});

suite("a connection that is accepted and then silent", () => {
  for (const scheme of ["http", "https"]) {
    test(`is closed after connectTimeoutMs, and the next call has another (gRPC, ${scheme})`, async () => {
      const accepted: Socket[] = [];
      await using silent = createServer((socket) => accepted.push(socket.on("error", () => undefined).resume())).listen(0, "127.0.0.1");
      await once(silent, "listening");
      const { port } = silent.address() as AddressInfo;
      using opened = client(createGrpcTransport({ url: `${scheme}://localhost:${port}`, connectTimeoutMs: 300 }));
      for (const calls of [1, 2]) {
        const { code, unreached, message } = await factsOf(opened.client.getTask({ id: "x" }));
        assert.deepEqual([code, unreached], [Code.Unavailable, true], message);
        const last = await until(`connection ${calls}`, 20_000, async () => accepted[calls - 1]);
        if (!last.closed) await once(last, "close");
      }
    });
  }

  test("does not stand in the way of the next call (gRPC)", async () => {
    await using bed = await openBed();
    let accepted = 0;
    await using door = createServer((socket) => {
      accepted += 1;
      if (accepted === 1) socket.on("error", () => undefined).resume();
      else pipeline(socket, connect(bed.server.ports.grpc, "127.0.0.1"), socket, () => undefined);
    }).listen(0, "127.0.0.1");
    await once(door, "listening");
    const { port } = door.address() as AddressInfo;
    const headers = { "a2a-version": "1.0" };
    using opened = client(createGrpcTransport({ url: `http://127.0.0.1:${port}`, headers, connectTimeoutMs: 300 }));
    assert.equal((await factsOf(opened.client.subscribeToTask({ id: "x" }))).unreached, true);
    // gRPC waits a little before it tries again.
    const reached = await until("the server is reached", 20_000, async () => {
      const facts = await factsOf(opened.client.getTask({ id: "x" }));
      return !facts.unreached && facts;
    });
    assert.equal(reached.reason, "TASK_NOT_FOUND");
  });
});

suite("a connection that is half open", { concurrency: true }, () => {
  const SOON = { keepaliveMs: 500, keepaliveTimeoutMs: 4000, silenceMs: 4000 };

  for (const way of WAYS.filter(({ name }) => name !== "Connect over HTTP/1.1")) {
    test(`is noticed where a stream does not begin: UNAVAILABLE (${way.name})`, async () => {
      await using proxied = await ProxiedBed.open();
      using opened = client(way.open(proxied.ports, SOON));
      assert.equal((await factsOf(opened.client.getTask({ id: "x" }))).reason, "TASK_NOT_FOUND");
      proxied.proxy(way).halfOpen();
      const { code, unreached, message } = await factsOf(opened.client.subscribeToTask({ id: "x" }));
      assert.deepEqual([code, unreached], [Code.Unavailable, false], message);
    });

    test(`is noticed by what does not come: UNAVAILABLE (${way.name})`, async () => {
      await using proxied = await ProxiedBed.open();
      const gate = proxied.bed.agent.gate();
      using opened = client(way.open(proxied.ports, SOON));
      const stream = opened.client.sendStreamingMessage(sendOf(`slow ${gate.name}`))[Symbol.asyncIterator]();
      assert.equal((await stream.next()).value?.payload.case, "task");
      assert.equal((await stream.next()).value?.payload.case, "statusUpdate");
      proxied.proxy(way).halfOpen();
      const { code, unreached, message } = await factsOf({ [Symbol.asyncIterator]: () => stream });
      assert.deepEqual([code, unreached], [Code.Unavailable, false], message);
      gate.open();
    });
  }
});

suite("a server that ends a stream", () => {
  test("because it drains: UNAVAILABLE with the reason, or on SSE just the end", async () => {
    await using bed = await openBed();
    const gates = WAYS.map(() => bed.agent.gate());
    using opened = new DisposableStack();
    const clients = WAYS.map((way) => opened.use(client(way.open(bed.server.ports))).client);
    const streams = clients.map((caller, at) => watch(caller.sendStreamingMessage(sendOf(`slow ${gates[at]?.name}`))));
    await Promise.all(gates.map(({ reached }) => reached));
    await bed.server.drain({ atOnce: true });
    for (const [at, { end }] of (await Promise.all(streams)).entries()) {
      const way = WAYS[at];
      if (way?.sse === true) assert.equal(end, "clean", way.name);
      else assert.deepEqual(end !== "clean" && [end.reason, end.code], ["STREAM_DRAINED", Code.Unavailable], way?.name);
    }
  });

  test("C-32 because of an error in mid-stream: the error's facts", async () => {
    const storage = new HookedStorage();
    await using bed = await openBed({ storage });
    const gates = WAYS.map(() => bed.agent.gate());
    using opened = new DisposableStack();
    const clients = WAYS.map((way) => opened.use(client(way.open(bed.server.ports))).client);
    const ids = await Promise.all(clients.map((caller, at) => taskFor(caller, `slow ${gates[at]?.name}`)));
    await Promise.all(gates.map(({ reached }) => reached));
    const streams = clients.map((caller, at) => caller.subscribeToTask({ id: ids[at] as string })[Symbol.asyncIterator]());
    for (const stream of streams) assert.equal((await stream.next()).value?.payload.case, "task");
    storage.breakTails(new TaskError("STORE_UNAVAILABLE", "the store is away", { retryAfterMs: 1500 }));
    for (const [at, stream] of streams.entries()) {
      const { reason, code, retryAfterMs } = await factsOf({ [Symbol.asyncIterator]: () => stream });
      assert.deepEqual([reason, code, retryAfterMs], ["STORE_UNAVAILABLE", Code.Unavailable, 1500], WAYS[at]?.name);
    }
    for (const gate of gates) gate.open();
  });
});
