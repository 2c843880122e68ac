/** What the bindings share that carry the messages of the schema as they are. */
import { randomUUID } from "node:crypto";
import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  A2AService,
  CancelTaskRequestSchema,
  GetTaskRequestSchema,
  ListTasksRequestSchema,
  Role,
  SendMessageRequestSchema,
  StreamResponseSchema,
  SubscribeToTaskRequestSchema,
  TaskSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Format } from "./answer.ts";
import type { Connections } from "./connections.ts";
import { type Driver, PAGE_SIZE } from "./driver.ts";
import type { StreamCall, Watch } from "./stream-call.ts";

/** How calls of one kind go. */
export interface Wire {
  readonly headers: Readonly<Record<string, string>>;
  /** The body that holds a message. */
  enclose(message: Uint8Array): Uint8Array;
  readonly answer: Format;
}

/** A driver over `connections`. */
export function protobufDriver(connections: Connections, unary: Wire, streaming: Wire): Driver {
  const call = <T extends DescMessage>(wire: Wire, method: string, schema: T, init: MessageInitShape<T>, watch?: Watch): StreamCall => {
    const body = wire.enclose(toBinary(schema, create(schema, init)));
    return connections.call({ method: "POST", path: `/${A2AService.typeName}/${method}`, headers: wire.headers, body }, wire.answer, watch);
  };
  return {
    send: (text, watch) => {
      const parts = [{ content: { case: "text" as const, value: text } }];
      const message = { messageId: randomUUID(), role: Role.USER, parts };
      return call(streaming, "SendStreamingMessage", SendMessageRequestSchema, { message }, watch);
    },
    subscribe: (id) => call(streaming, "SubscribeToTask", SubscribeToTaskRequestSchema, { id }),
    get: (id) => call(unary, "GetTask", GetTaskRequestSchema, { id }).only(),
    list: () => call(unary, "ListTasks", ListTasksRequestSchema, { pageSize: PAGE_SIZE }).only(),
    cancel: async (id) => {
      await call(unary, "CancelTask", CancelTaskRequestSchema, { id }).only();
    },
    task: (reply) => fromBinary(TaskSchema, reply),
    event: (frame) => fromBinary(StreamResponseSchema, frame),
    close: () => connections.close(),
  };
}
