/** A gRPC server that does nothing but hold streams: each call gets one frame and stays open. */
import { promisify } from "node:util";
import { create, toBinary } from "@bufbuild/protobuf";
import { Server, ServerCredentials, type ServerWritableStream } from "@grpc/grpc-js";
import { A2AService, StreamResponseSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { ready } from "../server-process.ts";

const HOST = "127.0.0.1";
const path = `/${A2AService.typeName}/SubscribeToTask`;
const pass = (bytes: Buffer): Buffer => bytes;

const server = new Server();
const method = {
  path,
  requestStream: false,
  responseStream: true,
  requestSerialize: pass,
  requestDeserialize: pass,
  responseSerialize: pass,
  responseDeserialize: pass,
} as const;
server.addService(
  { SubscribeToTask: method },
  {
    SubscribeToTask: (call: ServerWritableStream<Buffer, Buffer>) => {
      // Of the size of ours, and as ours made anew for each task.
      const parts = [{ content: { case: "text" as const, value: "events=3" } }];
      const history = [{ messageId: crypto.randomUUID(), taskId: crypto.randomUUID(), contextId: crypto.randomUUID(), parts }];
      const value = { id: crypto.randomUUID(), contextId: crypto.randomUUID(), status: { state: TaskState.INPUT_REQUIRED }, history };
      call.write(Buffer.from(toBinary(StreamResponseSchema, create(StreamResponseSchema, { payload: { case: "task", value } }))));
    },
  },
);
const bind = promisify(server.bindAsync.bind(server));
const port = await bind(`${HOST}:0`, ServerCredentials.createInsecure());
ready({ grpc: `${HOST}:${port}` });
