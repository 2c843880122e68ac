/** Streams through a real nginx that nobody has told of streams. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { after, before, suite, test } from "node:test";
import { A2AClient } from "../../src/client/a2a-client.ts";
import type { ClientBinding } from "../../src/client/client-options.ts";
import { isTask } from "../../src/client/task-view.ts";
import { type Bed, openBed } from "../bindings/bed.ts";
import { BINDINGS } from "./client-bed.ts";
import type { Nginx } from "../nginx.ts";
import { naiveNginx } from "./nginx.ts";
import { resolveCard } from "./resolve-card.ts";

const READ_TIMEOUT_MS = 2000;
const KEEPALIVE_MS = 400;
const WHOLE = ["one ", "two ", "three"];
const PORTS = { GRPC: "grpc", "HTTP+JSON": "http", JSONRPC: "http", CONNECT: "http2" } as const;

interface Reader extends AsyncDisposable {
  readonly client: A2AClient;
  /** Connections of runs that were lost. */
  readonly lost: number;
}

suite("a stream through nginx", () => {
  let bed: Bed;
  let nginx: Nginx;
  let ports: Awaited<ReturnType<typeof naiveNginx>>["ports"];
  before(async () => {
    bed = await openBed({ keepaliveMs: KEEPALIVE_MS });
    ({ nginx, ports } = await naiveNginx({ ports: bed.server.ports, readTimeoutMs: READ_TIMEOUT_MS }));
  });
  after(async () => {
    await nginx[Symbol.asyncDispose]();
    await bed[Symbol.asyncDispose]();
  });

  const reader = async (binding: ClientBinding, path = ""): Promise<Reader> => {
    const card = resolveCard(bed.server.card, binding, ports[PORTS[binding]]);
    for (const one of card.supportedInterfaces) one.url = one.url.replace(/(:\d+)/, `$1${path}`);
    let lost = 0;
    const reconnect = { attempts: 1000, baseMs: 5, maxMs: 50 };
    const client = await A2AClient.connect(card, { bindings: [binding], reconnect, reconnecting: () => (lost += 1) });
    return {
      client,
      get lost() {
        return lost;
      },
      [Symbol.asyncDispose]: () => client.close(),
    };
  };

  for (const binding of BINDINGS) {
    test(`comes as it is made, not as nginx would hold it back, over ${binding}`, async () => {
      await using it = await reader(binding);
      const gate = bed.agent.gate();
      const pieces: string[] = [];
      // The agent goes on only when its last piece has come.
      for await (const piece of it.client.send(`chunks ${gate.name}`).text()) {
        pieces.push(piece);
        gate.open(2);
      }
      assert.deepEqual(pieces, WHOLE);
      assert.equal(it.lost, 0);
    });

    const fate = binding === "CONNECT" ? "comes back, as nothing tells it from a dead one" : "is not cut";
    test(`that is silent for longer than nginx waits ${fate}, over ${binding}`, async () => {
      await using it = await reader(binding);
      const gate = bed.agent.gate();
      const run = it.client.send(`chunks ${gate.name}`);
      const rest = run.then((task) => task);
      await gate.reached;
      await delay(READ_TIMEOUT_MS * 1.5);
      gate.open(3);
      const task = await rest;
      assert.ok(isTask(task));
      assert.deepEqual(
        task.artifacts[0]?.parts.map(({ content }) => content.value),
        WHOLE,
      );
      assert.equal(it.lost > 0, binding === "CONNECT", `${it.lost} lost`);
    });

    test(`outlives a restart of nginx, no piece lost or twice, over ${binding}`, async () => {
      await using it = await reader(binding);
      const gate = bed.agent.gate();
      const pieces: string[] = [];
      for await (const piece of it.client.send(`chunks ${gate.name}`).text()) {
        if (pieces.push(piece) === 1) {
          await nginx.stop();
          await nginx.start();
        }
        gate.open(2);
      }
      assert.deepEqual(pieces, WHOLE);
      assert.ok(it.lost > 0);
    });
  }

  test("comes at its end where nginx is told to hold it back all the same: that is what the header is for", async () => {
    await using it = await reader("HTTP+JSON", "/deaf");
    const gate = bed.agent.gate();
    let pieces = 0;
    const read = async (): Promise<void> => {
      for await (const _ of it.client.send(`chunks ${gate.name}`).text()) pieces += 1;
    };
    const whole = read();
    await gate.reached;
    await delay(500);
    assert.equal(pieces, 0);
    gate.open(3);
    await whole;
    assert.equal(pieces, WHOLE.length);
  });
});
