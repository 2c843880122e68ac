/** Receivers that fail, hang, close, redirect, answer garbage or without end: nobody else notices. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { suite, test } from "node:test";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { isTerminal, stateAfter } from "../../src/core/task.ts";
import { nextFrame, openBed, send, startTask, taskOf } from "../bindings/bed.ts";
import { frameJson } from "../bindings/callers/caller.ts";
import { RestCaller } from "../bindings/callers/rest.ts";
import { QUICK, startServer } from "../e2e/server-process.ts";
import { BAD_WAYS, BadReceiver, type BadWay } from "./bad-receiver.ts";
import { type Received, Receiver } from "./receiver.ts";

const ALLOW = ["127.0.0.0/8"];
const PUSH = { enabled: true, allow: ALLOW, retryBaseMs: 1, retryMaxMs: 5 };
/** Not for long, where nothing comes. Who is merely slow has not failed three times in a row by then. */
const SHORT = { timeoutMs: 2000, maxFailures: 3 };
const TASKS = 1000;
/** What the server's own objects may take: it ends where they take more. */
const HEAP_MIB = 192;
const WAYS = Object.keys(BAD_WAYS) as BadWay[];

/** A terminal event is among them. */
const ended = (received: readonly Received[]): boolean =>
  received.some(({ event }) => isTerminal(stateAfter(event) ?? TaskState.UNSPECIFIED));

suite("a receiver that answers as nobody should", () => {
  for (const way of WAYS) {
    const { acknowledges } = BAD_WAYS[way];
    test(`SV-16 ${way}: the stream and another webhook of its task have everything, and it ends ${acknowledges ? "done" : "parked"}`, async () => {
      await using bed = await openBed({ push: acknowledges ? PUSH : { ...PUSH, ...SHORT } });
      await using bad = await BadReceiver.open();
      await using good = await Receiver.open();
      const { rest } = bed;
      const gate = bed.agent.gate();
      const taskPushNotificationConfig = { id: "bad", url: bad.url(way) };
      const taskId = await startTask(rest, `chunks ${gate.name}`, {
        configuration: { taskPushNotificationConfig, returnImmediately: true },
      });
      await rest.unary("CreateTaskPushNotificationConfig", { taskId, id: "good", url: good.url() });
      const stream = rest.stream("SubscribeToTask", { id: taskId });
      const frames = [await nextFrame(stream)];
      gate.open(3);
      for await (const frame of stream) frames.push(frameJson(frame));
      assert.ok(frames.length >= 4, `the snapshot and what came after: ${frames.length}`);
      await good.until(ended);
      const state = async (): Promise<string> =>
        (await rest.unary("GetTaskPushNotificationConfig", { taskId, id: "bad" })).headers.get("throughline-delivery") ?? "";
      const wanted = acknowledges ? "state=done" : "state=parked";
      while (!(await state()).startsWith(wanted));
      assert.ok((bad.requests.get(way) ?? 0) >= (acknowledges ? 7 : 1));
    });
  }
});

test("SV-16 a thousand tasks with a good and a bad webhook each: everything good arrives, within bounded memory and sockets", async (t) => {
  await using bad = await BadReceiver.open();
  await using good = await Receiver.open();
  const flags = {
    enabled: "true",
    allow: ALLOW.join(),
    "timeout-ms": 5000,
    "retry-base-ms": 1,
    "retry-max-ms": 5,
    "per-host": 48,
    concurrency: 64,
  };
  const args = Object.entries(flags).flatMap(([name, value]) => [`--push-${name}`, `${value}`]);
  await using server = await startServer(["test/e2e/agents/ticking.ts", "--log", "error", ...args], {
    ...QUICK,
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}`,
  });
  const rest = new RestCaller(server.ports.http);
  const rss = (): number => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.process.child.pid}/status`, "utf8"))?.[1]) / 1024;
  const before = rss();
  let most = before;
  const watch = setInterval(() => (most = Math.max(most, rss())), 50);
  try {
    const one = async (at: number): Promise<void> => {
      const taskPushNotificationConfig = { url: good.url(`/${at}`) };
      const reply = await rest.unary(
        "SendMessage",
        send("ticks 4 5", { configuration: { taskPushNotificationConfig, returnImmediately: true } }),
      );
      await rest.unary("CreateTaskPushNotificationConfig", { taskId: taskOf(reply).id, url: bad.url(WAYS[at % WAYS.length] ?? "hang") });
    };
    for (let at = 0; at < TASKS; at += 50) await Promise.all(Array.from({ length: 50 }, (_, more) => one(at + more)));
    const over = new Set<string>();
    let looked = 0;
    await good.until((received) => {
      for (; looked < received.length; looked += 1) if (ended(received.slice(looked, looked + 1))) over.add(received[looked]?.path ?? "");
      return over.size === TASKS;
    });
  } finally {
    clearInterval(watch);
    rest.close();
  }
  const requests = [...bad.requests.values()].reduce((sum, count) => sum + count, 0);
  t.diagnostic(
    `${good.received.length} good requests, ${requests} bad ones, ${bad.most} connections at most, ${before.toFixed(0)} to ${most.toFixed(0)} MiB`,
  );
  assert.equal(good.received.length, TASKS * 7, "each event once");
  assert.ok(bad.most <= 64, `${bad.most} connections at once`);
  assert.ok(most < HEAP_MIB + 256, `${most} MiB`);
  assert.doesNotMatch(server.process.stderr, /"level":50/);
});
