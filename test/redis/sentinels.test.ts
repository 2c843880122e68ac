/** The sentinel fixture: a master that is replaced, and comes back as a replica. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Redis } from "ioredis";
import { MASTER_NAME, redisSentinels } from "./sentinels.ts";

test("sentinels name another master when it is killed, and the old one comes back as its replica", async (t) => {
  let started = performance.now();
  const lap = (what: string): void => {
    t.diagnostic(`${what}: ${Math.round(performance.now() - started)} ms`);
    started = performance.now();
  };
  await using set = await redisSentinels({ password: 'se"cret' });
  lap("start");
  assert.match(set.url, /^redis\+sentinel:\/\/:se%22cret@127\.0\.0\.1:\d+,127\.0\.0\.1:\d+,127\.0\.0\.1:\d+\/mymaster$/);
  const sentinels = set.sentinels.map(({ port }) => ({ host: "127.0.0.1", port }));
  const client = new Redis({ sentinels, name: MASTER_NAME, password: 'se"cret' });
  using _ = { [Symbol.dispose]: () => client.disconnect() };
  // It loses its connection on purpose here.
  client.on("error", () => undefined);
  await client.set("kept", "yes");
  assert.equal(await client.wait(1, 1000), 1);
  const old = await set.failover();
  lap("failover");
  const master = await set.master();
  assert.notEqual(master, old);
  assert.equal(await client.get("kept"), "yes");
  await set.restart(old);
  lap("restart");
  assert.match(String(await old.call("INFO", "replication")), /role:slave/);
  assert.equal(await old.call("GET", "kept"), "yes");
});

test("a second failover finds the restarted server ready to take over", async () => {
  await using set = await redisSentinels({ failoverTimeoutMs: 1000 });
  const first = await set.failover();
  await set.restart(first);
  const second = await set.failover();
  assert.notEqual(second, first);
  assert.equal(await set.master(), first);
});
