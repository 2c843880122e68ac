/** JSON-RPC 2.0. */
import { randomUUID } from "node:crypto";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { StreamResponseSchema, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { wholeBody } from "./answer.ts";
import type { CallInit } from "./connections.ts";
import { type Driver, PAGE_SIZE } from "./driver.ts";
import { http1Connections } from "./http1.ts";
import { eventStream } from "./sse.ts";

const LENIENT = { ignoreUnknownFields: true };

export function jsonRpcDriver(url: string): Driver {
  const connections = http1Connections(url);
  return {
    send: (text, watch) => {
      const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }] };
      return connections.call(request("SendStreamingMessage", { message }), eventStream, watch);
    },
    subscribe: (id) => connections.call(request("SubscribeToTask", { id }), eventStream),
    get: (id) => connections.call(request("GetTask", { id }), wholeBody).only(),
    list: () => connections.call(request("ListTasks", { pageSize: PAGE_SIZE }), wholeBody).only(),
    cancel: async (id) => {
      result(await connections.call(request("CancelTask", { id }), wholeBody).only());
    },
    task: (reply) => fromJson(TaskSchema, result(reply), LENIENT),
    event: (frame) => fromJson(StreamResponseSchema, result(frame), LENIENT),
    close: () => connections.close(),
  };
}

// One id does for all: every call is an HTTP request of its own.
const request = (method: string, params: object): CallInit => ({
  method: "POST",
  path: "",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
});

function result(reply: Buffer): JsonValue {
  const answer = JSON.parse(reply.toString()) as { readonly result?: JsonValue };
  if (answer.result === undefined) throw new Error(`a JSON-RPC error: ${reply.toString()}`);
  return answer.result;
}
