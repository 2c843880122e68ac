import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { completed, serve, type ServeInit, working } from "../../../src/index.ts";
import { fileRedis } from "../../redis/file-redis.ts";
import { message, taskOf } from "../bed.ts";
import { GrpcCaller } from "../callers/grpc.ts";
import { JsonRpcCaller } from "../callers/json-rpc.ts";
import { RestCaller } from "../callers/rest.ts";

/** Far more than a head of a list holds. */
const MESSAGES = 40;
const MESSAGE_BYTES = 8 * 1024;

const STORES: Readonly<Record<string, () => Promise<Partial<ServeInit>>>> = {
  "in memory": async () => ({}),
  "on Redis": async () => ({ redis: { ...(await fileRedis()), shards: 4 } }),
};

for (const [where, store] of Object.entries(STORES)) {
  test(`R-053 a list shows as much of a long history as was asked for, as GetTask does (${where})`, async () => {
    await using server = await serve({
      grpcPort: 0,
      httpPort: 0,
      opsPort: 0,
      ...(await store()),
      agent: {
        card: { name: "talks", description: "Says a lot", version: "1.0.0" },
        async *run() {
          for (let count = 0; count < MESSAGES; count += 1) yield working(`${count} `.padEnd(MESSAGE_BYTES, "x"));
          yield completed("done");
        },
      },
    });
    const callers = [new GrpcCaller(server.ports.grpc), new RestCaller(server.ports.http), new JsonRpcCaller(server.ports.http)];
    const { id } = taskOf(await (callers[0] as GrpcCaller).unary("SendMessage", { message: message("go") }));
    for (const caller of callers) {
      for (const historyLength of [undefined, 0, 1, 3, 20, 1000]) {
        const asked = historyLength === undefined ? {} : { historyLength };
        const { message: page } = await caller.unary("ListTasks", asked);
        const [listed, ...others] = page["tasks"] as JsonObject[];
        const whole = taskOf(await caller.unary("GetTask", { id, ...asked }));
        assert.deepEqual(others, []);
        assert.deepEqual(listed?.["history"] ?? [], whole["history"] ?? [], `historyLength ${historyLength}`);
        assert.deepEqual(listed?.["status"], whole["status"]);
        assert.equal(listed?.["artifacts"], undefined);
        const shown = ((listed?.["history"] ?? []) as unknown[]).length;
        assert.equal(shown, Math.min(historyLength ?? Infinity, MESSAGES + 1));
      }
      caller.close();
    }
  });
}
