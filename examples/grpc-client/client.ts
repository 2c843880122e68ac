/** A gRPC caller in one file, one line of JSON per frame. A subscription with the id of the last event seen goes on after it. */
import { randomUUID } from "node:crypto";
import { create, fromBinary, toBinary, toJsonString, type DescMethod, type MessageInitShape } from "@bufbuild/protobuf";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { A2AService } from "../../src/index.ts";

const [address = "127.0.0.1:50051", command = "", argument = "", more] = process.argv.slice(2);
const lastEventId = command === "subscribe" ? more : undefined;
const message = (text: string, taskId = "") => ({
  messageId: randomUUID(),
  taskId,
  role: 1,
  parts: [{ content: { case: "text" as const, value: text } }],
});
const methods = A2AService.method;
const calls: Record<string, () => [DescMethod, MessageInitShape<DescMethod["input"]>]> = {
  send: () => [methods.sendStreamingMessage, { message: message(argument) }],
  reply: () => [methods.sendStreamingMessage, { message: message(more ?? "", argument) }],
  subscribe: () => [methods.subscribeToTask, { id: argument }],
  get: () => [methods.getTask, { id: argument }],
  cancel: () => [methods.cancelTask, { id: argument }],
};
const [method, request] = calls[command]?.() ?? [];
if (method === undefined || request === undefined) {
  process.stderr.write(
    "usage: client.ts HOST:PORT send TEXT | reply TASK TEXT | subscribe TASK [LAST-EVENT-ID] | get TASK | cancel TASK\n",
  );
  process.exit(2);
}

const metadata = new Metadata();
metadata.set("a2a-version", "1.0");
if (lastEventId !== undefined) {
  metadata.set("a2a-extensions", "urn:throughline:a2a:log:v1");
  metadata.set("last-event-id", lastEventId);
}
const client = new Client(address, credentials.createInsecure(), { "grpc.max_receive_message_length": 16 * 1024 * 1024 });
const path = `/${A2AService.typeName}/${method.name}`;
const encode = (): Buffer => Buffer.from(toBinary(method.input, create(method.input, request)));
const print = (bytes: Buffer): void => void process.stdout.write(`${toJsonString(method.output, fromBinary(method.output, bytes))}\n`);
// Whoever read has gone, as head does after its last line.
process.stdout.on("error", () => process.exit());
const fail = (error: ServiceError): void => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
};

if (method.methodKind === "server_streaming") {
  const stream = client.makeServerStreamRequest(path, encode, (bytes) => bytes, null, metadata);
  stream.on("data", print).on("error", fail);
} else {
  client.makeUnaryRequest(
    path,
    encode,
    (bytes: Buffer) => bytes,
    null,
    metadata,
    (error, bytes) => (error === null ? print(bytes as Buffer) : fail(error)),
  );
}
