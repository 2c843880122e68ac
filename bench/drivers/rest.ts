/** HTTP+JSON. */
import { randomUUID } from "node:crypto";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { StreamResponseSchema, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { wholeBody } from "./answer.ts";
import type { CallInit } from "./connections.ts";
import { type Driver, PAGE_SIZE } from "./driver.ts";
import { http1Connections } from "./http1.ts";
import { eventStream } from "./sse.ts";

const LENIENT = { ignoreUnknownFields: true };

export function restDriver(url: string): Driver {
  const connections = http1Connections(url);
  return {
    send: (text, watch) => {
      const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }] };
      return connections.call(post("/message:stream", { message }), eventStream, watch);
    },
    subscribe: (id) => connections.call(get(`/tasks/${id}:subscribe`), eventStream),
    get: (id) => connections.call(get(`/tasks/${id}`), wholeBody).only(),
    list: () => connections.call(get(`/tasks?pageSize=${PAGE_SIZE}`), wholeBody).only(),
    cancel: async (id) => {
      await connections.call(post(`/tasks/${id}:cancel`, {}), wholeBody).only();
    },
    task: (reply) => fromJson(TaskSchema, JSON.parse(reply.toString()) as JsonValue, LENIENT),
    event: (frame) => fromJson(StreamResponseSchema, JSON.parse(frame.toString()) as JsonValue, LENIENT),
    close: () => connections.close(),
  };
}

const get = (path: string): CallInit => ({ method: "GET", path, headers: {} });

const post = (path: string, body: object): CallInit => ({
  method: "POST",
  path,
  headers: { "content-type": "application/a2a+json" },
  body: JSON.stringify(body),
});
