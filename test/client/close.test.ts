/** What a client that is closed leaves behind: nothing that waits. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { A2AError } from "../../src/client/a2a-error.ts";
import { BINDINGS, clientBed } from "./client-bed.ts";

const AN_HOUR_MS = 3_600_000;

function isClosed(error: A2AError): boolean {
  return error.message === "the client is closed";
}

suite("a client that is closed", () => {
  const bed = clientBed();

  for (const binding of BINDINGS) {
    test(`ends a run that waits for its next event, and tells of no lost connection, over ${binding}`, async () => {
      const told: unknown[] = [];
      await using it = await bed.through(binding, { reconnecting: (cut) => told.push(cut) });
      const gate = bed().agent.gate();
      const run = it.client.send(`chunks ${gate.name}`);
      for await (const { event } of run) if (event.case === "artifactUpdate") break;
      const ended = assert.rejects(async () => run, isClosed);
      await it.client.close();
      await ended;
      assert.deepEqual(told, []);
      gate.open(3);
    });

    test(`ends a run that waits to come back to its task over ${binding}`, async () => {
      const lost = Promise.withResolvers<void>();
      const reconnect = { baseMs: AN_HOUR_MS, maxMs: AN_HOUR_MS };
      await using it = await bed.through(binding, { reconnect, reconnecting: () => lost.resolve() });
      const gate = bed().agent.gate();
      const run = it.client.send(`chunks ${gate.name}`);
      for await (const { event } of run) if (event.case === "artifactUpdate") break;
      const ended = assert.rejects(async () => run, isClosed);
      it.proxy.cut();
      await lost.promise;
      await it.client.close();
      await ended;
      gate.open(3);
    });

    test(`ends a run between two times that it asks for its task over ${binding}`, async () => {
      await using it = await bed.through(binding, { wait: "poll", pollIntervalMs: AN_HOUR_MS });
      const gate = bed().agent.gate();
      const run = it.client.send(`slow ${gate.name}`);
      await run[Symbol.asyncIterator]().next();
      const ended = assert.rejects(async () => run, isClosed);
      await it.client.close();
      await ended;
      gate.open();
    });

    test(`makes no call any more over ${binding}`, async () => {
      await using it = await bed.through(binding);
      await it.client.send("complete");
      await it.client.close();
      await assert.rejects(it.client.listTasks(), isClosed);
      await assert.rejects(async () => it.client.send("complete"), isClosed);
    });
  }
});
