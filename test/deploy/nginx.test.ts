/** deploy/nginx before three replicas: streams of every binding through silence and a rolling restart. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { A2AClient } from "../../src/client/a2a-client.ts";
import { BINDINGS, cardOf } from "../rolling/readers.ts";
import { rollingRestart } from "../rolling/restart.ts";
import { Service } from "../rolling/service.ts";

const PATIENCE_MS = 2000;
const NEVER = "/nowhere/at/all";

suite("nginx as it is documented", { timeout: 280_000 }, () => {
  test("a rolling restart: no task or event is lost, none comes twice, no call fails that is repeated once", async (t) => {
    const options = { replicas: 3, streams: 48, turns: 6, tickMs: 200, connections: 1000, serve: { "drain-delay-ms": 500 } };
    const { seen, called, ...result } = await rollingRestart(options, (what) => t.diagnostic(what));
    assert.deepEqual([result.tasksLost, result.streamsShort, seen.lost, seen.doubled, called.failed], [0, 0, 0, 0, []]);
    assert.equal(result.took.length, 3);
    assert.ok(seen.away.length > 0 && called.calls > 0);
    t.diagnostic(`${seen.away.length} readers were cut and back after ${Math.round(Math.max(...seen.away))} ms at most`);
    t.diagnostic(`${called.calls} calls, ${called.repeated} of them repeated`);
  });

  test("what is silent for longer than nginx waits is not cut where the server can give a sign, and comes back where it cannot", async () => {
    await using service = await Service.open({
      replicas: 3,
      connections: 200,
      patience: `${PATIENCE_MS}ms`,
      serve: { "keepalive-ms": 400 },
    });
    await Promise.all(
      BINDINGS.map(async (binding) => {
        let cuts = 0;
        const client = await A2AClient.connect(cardOf(binding, service.ports, true), {
          bindings: [binding],
          reconnect: { baseMs: 5, maxMs: 50 },
          reconnecting: () => (cuts += 1),
        });
        try {
          const run = client.send(`until ${NEVER} 600000`);
          const pieces: string[] = [];
          let canceled: Promise<unknown> | undefined;
          // The first piece comes at once: nothing is held back.
          for await (const piece of run.text()) {
            pieces.push(piece);
            canceled ??= delay(PATIENCE_MS * 2).then(() => run.cancel());
          }
          await canceled;
          assert.deepEqual(pieces, ["0"]);
          assert.equal(cuts > 0, binding === "CONNECT", `${binding}: ${cuts} cuts`);
        } finally {
          await client.close();
        }
      }),
    );
  });
});
