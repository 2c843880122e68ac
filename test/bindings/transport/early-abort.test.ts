/** Calls that are given up as soon as they are made: no server goes on with them. */
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { queryObjects } from "node:v8";
import { CallContext } from "../../../src/bindings/call-context.ts";
import { until } from "../../redis/until.ts";
import { openBed, startTask } from "../bed.ts";
import { client, WAYS } from "./ways.ts";

/** Each is given up one microtask later than the one before: from at once to when it has long begun. */
const CALLS = 40;
const WITHIN_MS = 20_000;

for (const way of WAYS) {
  test(`a call that is given up in the moment it is made is held by no server (${way.name})`, async () => {
    await using bed = await openBed();
    const gate = bed.agent.gate();
    const id = await startTask(bed.grpc, `slow ${gate.name}`);
    using opened = client(way.open(bed.server.ports));
    await opened.client.getTask({ id });
    for (let microtasks = 0; microtasks < CALLS; microtasks += 1) {
      const leaving = new AbortController();
      const stream = opened.client.subscribeToTask({ id }, { signal: leaving.signal })[Symbol.asyncIterator]();
      const first = stream.next().catch(() => undefined);
      for (let at = 0; at < microtasks; at += 1) await Promise.resolve();
      leaving.abort();
      await first;
    }
    await until("no call is left", WITHIN_MS, async () => {
      await delay(100);
      return queryObjects(CallContext, { format: "count" }) === 0;
    });
    gate.open();
  });
}
