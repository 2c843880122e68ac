/** A client that never reads costs the server a bounded amount, and nobody else notices. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { GrpcCaller } from "../bindings/callers/grpc.ts";
import { FLOOD_BYTES, flood, MB, message, readAll, type Stalled, SURFACES } from "./stalled-readers.ts";

/** One of each way to write. */
const WRITERS = new Set(["gRPC", "HTTP+JSON", "HTTP+JSON over HTTP/2", "JSON-RPC", "Connect", "gRPC-Web over HTTP/2"]);

async function peakWith(stalled: Stalled | undefined): Promise<number> {
  await using server = await flood();
  const caller = new GrpcCaller(server.ports.grpc);
  const begun = server.said<string>("begun");
  const reader = stalled?.(server.ports, FLOOD_BYTES);
  if (reader === undefined) {
    await caller.unary("SendMessage", { message: message(String(FLOOD_BYTES)), configuration: { returnImmediately: true } } as never);
  }
  const peak = server.said<number>("peak");
  await readAll(caller, await begun, () => server.go());
  reader?.close();
  caller.close();
  return await peak;
}

test(
  "SV-05 P-13 PR-09 a client that never reads 300 MB adds at most 8 MB, and other streams of the task reach its end",
  { timeout: 280_000 },
  async (t) => {
    const without = await peakWith(undefined);
    for (const [name, stalled] of SURFACES.filter(([surface]) => WRITERS.has(surface))) {
      await t.test(name, async () => {
        const added = (await peakWith(stalled)) - without;
        t.diagnostic(`${name}: ${(added / MB).toFixed(1)} MB more than ${(without / MB).toFixed(1)} MB`);
        assert.ok(added <= 8 * MB, `${(added / MB).toFixed(1)} MB more`);
      });
    }
  },
);

test("a reader that takes a large task slowly but steadily is not cut", { timeout: 120_000 }, async () => {
  await using server = await flood({ stalledStreamMs: 1500 });
  const caller = new GrpcCaller(server.ports.grpc);
  const begun = server.said<string>("begun");
  // One message of 8 MB in the task's history makes its first frame as large.
  const parts = [{ text: "1" }, { text: "x".repeat(8 * MB) }];
  const request = {
    message: { messageId: randomUUID(), role: "ROLE_USER", parts },
    configuration: { returnImmediately: true, historyLength: 0 },
  };
  await caller.unary("SendMessage", request);
  const socket = connect(server.ports.http, "127.0.0.1");
  socket.write(`GET /tasks/${await begun}:subscribe HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\nconnection: close\r\n\r\n`);
  let bytes = 0;
  socket.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    socket.pause();
    // Some 3 MB/s, for longer than stalledStreamMs.
    setTimeout(() => socket.resume(), 20);
    if (bytes > 8 * MB) server.go();
  });
  await once(socket, "close");
  assert.ok(bytes > 8 * MB, `cut after ${bytes} bytes`);
  caller.close();
});
