/** The redis-server fixture: it can be killed, paused and started again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { redisServer } from "./redis-server.ts";

test("a server killed with its append-only file on always comes back with its data", async () => {
  await using server = await redisServer({ appendonly: "always", password: "hemlig ö" });
  await server.call("SET", "kept", "yes");
  const { pid } = server;
  await server.kill();
  await server.start();
  assert.notEqual(server.pid, pid);
  assert.equal(await server.call("GET", "kept"), "yes");
});

test("a server without an append-only file comes back empty", async () => {
  await using server = await redisServer();
  const client = server.client();
  await client.set("lost", "yes");
  await server.shutdown();
  assert.equal(server.running, false);
  await server.start();
  assert.equal(await client.dbsize(), 0);
});

test("a paused server answers when it is resumed", async () => {
  await using server = await redisServer();
  const client = server.client({ commandTimeout: 100, maxRetriesPerRequest: 0 });
  await client.ping();
  server.pause();
  await assert.rejects(client.ping(), /timed out/);
  server.resume();
  assert.equal(await client.ping(), "PONG");
});
