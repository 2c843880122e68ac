/**
 * `node plain-caller.ts dns:…`: a client as anyone may have it, grpc-js with the settings that docs/operations.md names. Says `called` for each
 * call, or `failed` with the reason where it was refused twice.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { Role, SendMessageRequestSchema } from "../../../gen/lf/a2a/v1/a2a_pb.ts";

const BETWEEN_MS = 10;
const retryPolicy = {
  maxAttempts: 2,
  initialBackoff: "0.1s",
  maxBackoff: "1s",
  backoffMultiplier: 2,
  retryableStatusCodes: ["UNAVAILABLE"],
};
const client = new Client(process.argv[2] ?? "", credentials.createInsecure(), {
  "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }], methodConfig: [{ name: [{}], retryPolicy }] }),
  "grpc.dns_min_time_between_resolutions_ms": 500,
});
const metadata = new Metadata();
metadata.set("a2a-version", "1.0");

function call(): Promise<string> {
  const message = { messageId: randomUUID(), role: Role.USER, parts: [{ content: { case: "text", value: "hello" } as const }] };
  const bytes = Buffer.from(toBinary(SendMessageRequestSchema, create(SendMessageRequestSchema, { message })));
  const { promise, resolve } = Promise.withResolvers<string>();
  const same = (value: Buffer): Buffer => value;
  client.makeUnaryRequest("/lf.a2a.v1.A2AService/SendMessage", same, same, bytes, metadata, (error) =>
    resolve(error === null ? "called" : `failed ${error.message}`),
  );
  return promise;
}

for (;;) {
  process.stdout.write(`${await call()}\n`);
  await delay(BETWEEN_MS);
}
