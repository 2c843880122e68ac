/** HTTP+JSON. */
import { randomUUID } from "node:crypto";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { StreamResponseSchema, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Driver } from "./driver.ts";
import { httpConnections } from "./http.ts";

const JSON_BODY = { "content-type": "application/a2a+json" };
const LENIENT = { ignoreUnknownFields: true };

export function restDriver(url: string): Driver {
  const http = httpConnections(url);
  return {
    send: (text, watch) => {
      const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }] };
      const body = JSON.stringify({ message });
      return http.stream({ method: "POST", path: `/message:stream`, headers: JSON_BODY, body }, watch);
    },
    subscribe: (id) => http.stream({ method: "GET", path: `/tasks/${id}:subscribe`, headers: {} }),
    get: (id) => http.fetch({ method: "GET", path: `/tasks/${id}`, headers: {} }),
    cancel: async (id) => {
      await http.fetch({ method: "POST", path: `/tasks/${id}:cancel`, headers: JSON_BODY, body: "{}" });
    },
    task: (reply) => fromJson(TaskSchema, JSON.parse(reply.toString()) as JsonValue, LENIENT),
    event: (frame) => fromJson(StreamResponseSchema, JSON.parse(frame.toString()) as JsonValue, LENIENT),
    close: http.close,
  };
}
