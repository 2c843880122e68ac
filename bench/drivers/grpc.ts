/**
 * gRPC spoken directly on node:http2. A full gRPC client spends more CPU on a message than a server that passes stored bytes
 * through, and would be the limit of what is measured.
 */
import { randomUUID } from "node:crypto";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants, type IncomingHttpHeaders } from "node:http2";
import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  CancelTaskRequestSchema,
  GetTaskRequestSchema,
  Role,
  SendMessageRequestSchema,
  StreamResponseSchema,
  SubscribeToTaskRequestSchema,
  TaskSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type Driver, VERSION_HEADER } from "./driver.ts";
import { StreamCall, type Watch } from "./stream-call.ts";

const PREFIX = 5;
const WINDOW = 4 * 1024 * 1024;
const NOTHING = Buffer.alloc(0);

/** A driver that spreads its calls over `connections` connections. */
export function grpcDriver(address: string, connections: number): Driver {
  const sessions = Array.from({ length: connections }, () => openSession(address));
  let turn = 0;

  const call = <T extends DescMessage>(method: string, schema: T, init: MessageInitShape<T>, watch?: Watch): StreamCall => {
    const session = sessions[turn++ % sessions.length] as ClientHttp2Session;
    const stream = session.request({
      ":method": "POST",
      ":path": `/lf.a2a.v1.A2AService/${method}`,
      "content-type": "application/grpc",
      te: "trailers",
      ...VERSION_HEADER,
    });
    stream.end(enclose(toBinary(schema, create(schema, init))));
    return readStream(stream, watch);
  };

  const unary = async <T extends DescMessage>(method: string, schema: T, init: MessageInitShape<T>): Promise<Buffer> => {
    const reply = call(method, schema, init);
    await reply.ended;
    return reply.opened;
  };

  return {
    send: (text, watch) => {
      const parts = [{ content: { case: "text" as const, value: text } }];
      const message = { messageId: randomUUID(), role: Role.USER, parts };
      return call("SendStreamingMessage", SendMessageRequestSchema, { message }, watch);
    },
    subscribe: (id) => call("SubscribeToTask", SubscribeToTaskRequestSchema, { id }),
    get: (id) => unary("GetTask", GetTaskRequestSchema, { id }),
    cancel: async (id) => {
      await unary("CancelTask", CancelTaskRequestSchema, { id });
    },
    task: (reply) => fromBinary(TaskSchema, reply),
    event: (frame) => fromBinary(StreamResponseSchema, frame),
    close: () => {
      for (const session of sessions) session.destroy();
    },
  };
}

function openSession(address: string): ClientHttp2Session {
  const session = connect(`http://${address}`, { settings: { enablePush: false, initialWindowSize: WINDOW } });
  session.once("connect", () => session.setLocalWindowSize(WINDOW));
  // Each stream of the session reports the failure itself.
  session.on("error", () => {});
  return session;
}

function enclose(message: Uint8Array): Buffer {
  const body = Buffer.alloc(PREFIX + message.length);
  body.writeUInt32BE(message.length, 1);
  body.set(message, PREFIX);
  return body;
}

function readStream(stream: ClientHttp2Stream, watch: Watch | undefined): StreamCall {
  const call = new StreamCall(() => stream.close(constants.NGHTTP2_CANCEL), watch);
  let rest: Buffer = NOTHING;
  let status: IncomingHttpHeaders = {};
  stream.on("response", (headers) => {
    if (headers[":status"] !== 200) call.finish(new Error(`HTTP status ${headers[":status"]}`));
    status = headers;
  });
  stream.on("trailers", (trailers: IncomingHttpHeaders) => {
    status = trailers;
  });
  stream.on("data", (chunk: Buffer) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    while (bytes.length >= at + PREFIX) {
      const end = at + PREFIX + bytes.readUInt32BE(at + 1);
      if (bytes.length < end) break;
      call.frame(bytes, at + PREFIX, end);
      at = end;
    }
    rest = at === bytes.length ? NOTHING : bytes.subarray(at);
  });
  stream.once("end", () => {
    const code = status["grpc-status"];
    if (code === "0" && rest.length === 0) call.finish();
    else call.finish(new Error(`grpc-status ${String(code)} ${String(status["grpc-message"] ?? "")}, ${rest.length} bytes left over`));
  });
  stream.once("error", (error) => call.finish(error));
  stream.once("close", () => {
    if (!stream.readableEnded) call.finish(new Error(`the stream was closed with code ${stream.rstCode}`));
  });
  return call;
}
