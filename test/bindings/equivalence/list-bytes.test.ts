import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { artifact, serve, textPart } from "../../../src/index.ts";
import { message, taskOf } from "../bed.ts";
import { GrpcCaller } from "../callers/grpc.ts";
import { JsonRpcCaller } from "../callers/json-rpc.ts";
import { RestCaller } from "../callers/rest.ts";

const BYTES = 3 * 1024 * 1024;

test("a list with artifacts ends its page before it grows beyond a few megabytes, and goes on where it ended", async () => {
  const card = { name: "large", description: "Makes large artifacts", version: "1.0.0" };
  await using server = await serve({
    grpcPort: 0,
    httpPort: 0,
    opsPort: 0,
    agent: {
      card,
      async *run() {
        yield artifact({ artifactId: "a", parts: [textPart("x".repeat(BYTES))] });
      },
    },
  });
  const callers = [new GrpcCaller(server.ports.grpc), new RestCaller(server.ports.http), new JsonRpcCaller(server.ports.http)];
  const sent: string[] = [];
  for (let count = 0; count < 3; count += 1) {
    sent.unshift(taskOf(await (callers[0] as GrpcCaller).unary("SendMessage", { message: message("go") })).id);
  }
  for (const caller of callers) {
    const listed: string[] = [];
    let pageToken = "";
    do {
      const { message: page } = await caller.unary("ListTasks", { includeArtifacts: true, ...(pageToken !== "" && { pageToken }) });
      const tasks = page["tasks"] as JsonObject[];
      assert.deepEqual([tasks.length, page["totalSize"]], [1, 3]);
      listed.push(...tasks.map(({ id }) => id as string));
      pageToken = (page["nextPageToken"] ?? "") as string;
    } while (pageToken !== "");
    assert.deepEqual(listed, sent);
    caller.close();
  }
});
