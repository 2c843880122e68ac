/** How calls end before they are over: by their caller, by their deadline, with their transport. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { Code, type ConnectError } from "@connectrpc/connect";
import type { StreamResponse } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { until } from "../../redis/until.ts";
import type { Gate } from "../scenario-agent.ts";
import { ProxiedBed } from "./proxied-bed.ts";
import { type A2AClient, client, factsOf, sendOf, taskFor, type Way, watch, WAYS } from "./ways.ts";

let proxied: ProxiedBed;
before(async () => (proxied = await ProxiedBed.open()));
after(() => proxied[Symbol.asyncDispose]());

/** A stream of a task that works and waits at a gate; its first two frames are read. */
async function workingStream(
  caller: A2AClient,
  options: { signal?: AbortSignal; timeoutMs?: number } = {},
): Promise<{ gate: Gate; stream: AsyncIterator<StreamResponse>; rest: AsyncIterable<StreamResponse> }> {
  const gate = proxied.bed.agent.gate();
  const stream = caller.sendStreamingMessage(sendOf(`slow ${gate.name}`), options)[Symbol.asyncIterator]();
  for (const kind of ["task", "statusUpdate"]) assert.equal((await stream.next()).value?.payload.case, kind);
  return { gate, stream, rest: { [Symbol.asyncIterator]: () => stream } };
}

/** The same for each way. */
function eachWay(name: string, body: (caller: A2AClient, way: Way) => Promise<void>): void {
  for (const way of WAYS) {
    test(`${name} (${way.name})`, async () => {
      using opened = client(way.open(proxied.ports));
      await body(opened.client, way);
    });
  }
}

suite("a call that its caller ends", () => {
  eachWay("by its signal, while it waits: CANCELLED with the signal's reason, and the task goes on", async (caller) => {
    const gate = proxied.bed.agent.gate();
    const leaving = new AbortController();
    const wait = factsOf(caller.sendMessage(sendOf(`slow ${gate.name}`), { signal: leaving.signal }));
    const turn = await gate.reached;
    leaving.abort(new Error("enough of it"));
    const { code, message, unreached } = await wait;
    assert.deepEqual([code, message, unreached], [Code.Canceled, "enough of it", false]);
    assert.equal(turn.signal.aborted, false);
    gate.open();
  });

  eachWay("by its signal, in mid-stream: CANCELLED at once, and the stream is over", async (caller) => {
    const leaving = new AbortController();
    const { gate, stream } = await workingStream(caller, { signal: leaving.signal });
    const pending = stream.next();
    leaving.abort();
    await assert.rejects(pending, (error: ConnectError) => error.code === Code.Canceled);
    assert.equal((await stream.next()).done, true);
    gate.open();
  });

  eachWay("before it began: nothing is sent", async (caller) => {
    const contextId = crypto.randomUUID();
    const signal = AbortSignal.abort();
    const message = { ...sendOf("complete").message, contextId };
    assert.equal((await factsOf(caller.sendMessage({ message }, { signal }))).code, Code.Canceled);
    assert.equal((await factsOf(caller.sendStreamingMessage({ message }, { signal }))).code, Code.Canceled);
    assert.equal((await caller.listTasks({ contextId })).totalSize, 0);
  });

  eachWay("by reading no further: the task goes on, and the connection is let go", async (caller, way) => {
    const { gate, stream } = await workingStream(caller);
    const turn = await gate.reached;
    assert.deepEqual(await stream.return?.(), { done: true, value: undefined });
    assert.equal((await stream.next()).done, true);
    // Where a connection carries one call at a time, leaving a stream ends it.
    if (way.sse) await until("the connection is closed", 20_000, async () => proxied.proxy(way).connections === 0);
    assert.equal(turn.signal.aborted, false);
    gate.open();
    assert.equal((await watch(caller.sendStreamingMessage(sendOf("complete")))).end, "clean");
  });
});

suite("a call that lasts too long", { concurrency: true }, () => {
  /** Long enough for what is to come before it. */
  const timeoutMs = 4000;

  eachWay("SV-18 while it waits is DEADLINE_EXCEEDED, and the task goes on", async (caller) => {
    const gate = proxied.bed.agent.gate();
    const wait = factsOf(caller.sendMessage(sendOf(`slow ${gate.name}`), { timeoutMs }));
    const turn = await gate.reached;
    const { code, reason } = await wait;
    assert.deepEqual([code, reason], [Code.DeadlineExceeded, "DEADLINE_EXCEEDED"]);
    assert.equal(turn.signal.aborted, false);
    gate.open();
  });

  eachWay("in mid-stream is DEADLINE_EXCEEDED after what came before", async (caller) => {
    const gate = proxied.bed.agent.gate();
    const { frames, end } = await watch(caller.sendStreamingMessage(sendOf(`slow ${gate.name}`), { timeoutMs }));
    assert.deepEqual(frames, ["task SUBMITTED", "status WORKING"]);
    assert.equal(end !== "clean" && end.reason, "DEADLINE_EXCEEDED");
    gate.open();
  });

  eachWay("has no deadline with a timeout of 0", async (caller) => {
    assert.equal((await caller.sendMessage(sendOf("complete"), { timeoutMs: 0 })).payload.case, "task");
  });
});

suite("a transport that is closed", () => {
  for (const way of WAYS) {
    test(`ends its calls with CANCELLED, and takes no more (${way.name})`, async () => {
      const opened = client(way.open(proxied.ports));
      const { gate, rest } = await workingStream(opened.client);
      const waiting = proxied.bed.agent.gate();
      const wait = factsOf(opened.client.sendMessage(sendOf(`slow ${waiting.name}`)));
      const stream = watch(rest);
      await waiting.reached;
      opened[Symbol.dispose]();
      opened[Symbol.dispose]();
      assert.equal((await wait).code, Code.Canceled);
      const { frames, end } = await stream;
      assert.deepEqual([frames, end !== "clean" && end.code], [[], Code.Canceled]);
      assert.equal((await factsOf(opened.client.getTask({ id: "x" }))).code, Code.Canceled);
      assert.equal((await factsOf(opened.client.subscribeToTask({ id: "x" }))).code, Code.Canceled);
      for (const open of [gate, waiting]) open.open();
      await until("its connections are closed", 20_000, async () => proxied.proxy(way).connections === 0);
    });
  }
});

suite("many calls at once", () => {
  eachWay("each get their own reply", async (caller) => {
    const gate = proxied.bed.agent.gate();
    const ids = await Promise.all(Array.from({ length: 20 }, () => taskFor(caller, `slow ${gate.name}`)));
    assert.equal(new Set(ids).size, 20);
    const streams = ids.map((id) => caller.subscribeToTask({ id })[Symbol.asyncIterator]());
    for (const [at, { value }] of (await Promise.all(streams.map((stream) => stream.next()))).entries()) {
      assert.ok(value?.payload.case === "task");
      assert.equal(value.payload.value.id, ids[at]);
    }
    const got = await Promise.all(ids.map((id) => caller.getTask({ id })));
    assert.deepEqual(
      got.map(({ id }) => id),
      ids,
    );
    gate.open(20);
    for (const stream of streams) {
      const { frames, end } = await watch({ [Symbol.asyncIterator]: () => stream });
      assert.deepEqual([frames.at(-1), end], ["status COMPLETED", "clean"]);
    }
  });
});
