/** An agent that yields without a pause, and a reader that takes whatever comes. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { A2AService, Role, SendMessageRequestSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { createGrpcTransport } from "../../src/bindings/grpc/transport.ts";
import { serve } from "../../src/server/serve.ts";
import { fileRedis } from "../redis/file-redis.ts";
import { agentOf, text } from "../worker/bed.ts";

/** Many times what readers can resume in: 1,000 entries, 1 MiB. */
const BURSTS = [
  { chunks: 8000, bytes: 100 },
  { chunks: 4000, bytes: 1000 },
  { chunks: 400, bytes: 10_000 },
];

suite("a reader that takes whatever comes sees every event of a burst, and no snapshot in its midst", () => {
  for (const store of ["memory", "Redis"]) {
    for (const { chunks, bytes } of BURSTS) {
      test(`${chunks.toLocaleString("en")} chunks of ${bytes.toLocaleString("en")} bytes, on ${store}`, async () => {
        const chunk = "x".repeat(bytes);
        const agent = agentOf(async function* () {
          for (let at = 0; at < chunks; at += 1) yield text("burst", chunk, at > 0);
        });
        const redis = store === "Redis" ? { url: (await fileRedis()).url, prefix: `bursts-${chunks}` } : {};
        await using server = await serve({ agent, host: "127.0.0.1", grpcPort: 0, httpPort: 0, opsPort: 0, redis });
        const transport = createGrpcTransport({ url: `http://127.0.0.1:${server.ports.grpc}`, headers: { "a2a-version": "1.0" } });
        const parts = [{ content: { case: "text" as const, value: "go" } }];
        const request = create(SendMessageRequestSchema, { message: { messageId: crypto.randomUUID(), role: Role.USER, parts } });
        const seen = { task: 0, statusUpdate: 0, artifactUpdate: 0, message: 0 };
        for await (const { payload } of createClient(A2AService, transport).sendStreamingMessage(request))
          if (payload.case) seen[payload.case] += 1;
        assert.deepEqual(seen, { task: 1, statusUpdate: 2, artifactUpdate: chunks, message: 0 });
      });
    }
  }
});
