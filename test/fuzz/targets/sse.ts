/** Server-sent events into the client, over both of its bindings that read them. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient, ConnectError } from "@connectrpc/connect";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { createJsonRpcTransport } from "../../../src/bindings/json-rpc/transport.ts";
import { createRestTransport } from "../../../src/bindings/rest/transport.ts";
import type { Target } from "../target.ts";

const TASK = { task: { id: "t", contextId: "c", status: { state: "TASK_STATE_WORKING", timestamp: "2026-01-02T03:04:05Z" }, history: [] } };
const STATUS = { statusUpdate: { taskId: "t", contextId: "c", status: { state: "TASK_STATE_COMPLETED" } } };
const CHUNK = {
  artifactUpdate: {
    taskId: "t",
    contextId: "c",
    append: true,
    artifact: { artifactId: "a", parts: [{ text: "x\u2028\n" }, { data: { a: [1, null] } }] },
  },
};
const EVENTS = [TASK, STATUS, CHUNK, { error: { code: 404, status: "NOT_FOUND", message: "no", details: [] } }];

/** Whatever comes, the client hands out messages and then ends, or throws a ConnectError. */
export const sse: Target = {
  name: "sse",
  async open() {
    let pieces: readonly Buffer[] = [];
    const server = createServer((request, response) => {
      request.resume();
      response.on("error", () => undefined).writeHead(200, { "content-type": "text/event-stream" });
      for (const piece of pieces) response.write(piece);
      response.end();
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const transports = [createRestTransport({ url }), createJsonRpcTransport({ url })];
    const clients = transports.map((transport) => createClient(A2AService, transport));
    return {
      async input(random) {
        const rpc = random.below(2);
        const line = (event: object): string =>
          JSON.stringify(rpc === 1 ? { jsonrpc: "2.0", id: "call-0", ...("error" in event ? event : { result: event }) } : event);
        const events = Array.from(
          { length: 1 + random.below(6) },
          () =>
            `${random.pick(["", "id: t/3.00000000\n", "event: x\n", ": c\n"])}data: ${line(random.pick(EVENTS))}${random.pick(["\n\n", "\r\n\r\n", "\r\r", "\n"])}`,
        );
        const whole = random.chance(0.8) ? random.mutated(Buffer.from(events.join(""))) : Buffer.from(events.join(""));
        const cuts = Array.from({ length: random.below(4) }, () => random.below(whole.length + 1)).toSorted((a, b) => a - b);
        pieces = [0, ...cuts].map((cut, at) => whole.subarray(cut, cuts[at] ?? whole.length));
        try {
          for await (const frame of clients[rpc]?.subscribeToTask({ id: "t" }) ?? [])
            assert.equal(frame.$typeName, "lf.a2a.v1.StreamResponse");
        } catch (error) {
          assert.ok(error instanceof ConnectError, String(error));
        }
      },
      async check() {
        pieces = [Buffer.from(`data: ${JSON.stringify(TASK)}\n\ndata: ${JSON.stringify(STATUS)}\n\n`)];
        let count = 0;
        for await (const _ of clients[0]?.subscribeToTask({ id: "t" }) ?? []) count += 1;
        assert.equal(count, 2);
      },
      async [Symbol.asyncDispose]() {
        for (const transport of transports) transport.close();
        server.closeAllConnections();
        server.close();
      },
    };
  },
};
