/** JSON-RPC 2.0. */
import { randomUUID } from "node:crypto";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { StreamResponseSchema, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Driver } from "./driver.ts";
import { httpConnections, type HttpRequest } from "./http.ts";

const LENIENT = { ignoreUnknownFields: true };

export function jsonRpcDriver(url: string): Driver {
  const http = httpConnections(url);
  return {
    send: (text, watch) => {
      const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }] };
      return http.stream(call("SendStreamingMessage", { message }), watch);
    },
    subscribe: (id) => http.stream(call("SubscribeToTask", { id })),
    get: (id) => http.fetch(call("GetTask", { id })),
    cancel: async (id) => {
      result(await http.fetch(call("CancelTask", { id })));
    },
    task: (reply) => fromJson(TaskSchema, result(reply), LENIENT),
    event: (frame) => fromJson(StreamResponseSchema, result(frame), LENIENT),
    close: http.close,
  };
}

// One id does for all: every call is an HTTP request of its own.
const call = (method: string, params: object): HttpRequest => ({
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
