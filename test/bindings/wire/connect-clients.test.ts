import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { compressionGzip, createConnectTransport, createGrpcWebTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { A2AService, Role, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { sharedBed } from "../bed.ts";

const message = (text: string) => ({
  messageId: crypto.randomUUID(),
  role: Role.USER,
  parts: [{ content: { case: "text", value: text } as const }],
});

async function errorOf(call: Promise<unknown>): Promise<ConnectError> {
  const thrown: unknown = await call.then(
    () => assert.fail("the call did not fail"),
    (error: unknown) => error,
  );
  return ConnectError.from(thrown);
}

const statesOf = async (stream: ReturnType<Client<typeof A2AService>["subscribeToTask"]>): Promise<TaskState[]> => {
  const states: TaskState[] = [];
  for await (const { payload } of stream) {
    if (payload.case === "task" || payload.case === "statusUpdate") states.push(payload.value.status?.state ?? TaskState.UNSPECIFIED);
  }
  return states;
};

suite("Connect's own clients", () => {
  const bed = sharedBed();

  for (const [name, create] of Object.entries({ Connect: createConnectTransport, "gRPC-Web": createGrpcWebTransport })) {
    for (const httpVersion of ["1.1", "2"] as const) {
      for (const useBinaryFormat of [true, false]) {
        test(`call, stream and read errors over ${name}, HTTP/${httpVersion}, ${useBinaryFormat ? "binary" : "JSON"}`, async (t) => {
          const baseUrl = `http://127.0.0.1:${bed().server.ports.http}`;
          const sessions = new Http2SessionManager(baseUrl);
          t.after(() => sessions.abort());
          const transport: Transport = create({
            baseUrl,
            ...(httpVersion === "2" ? { httpVersion, sessionManager: sessions } : { httpVersion }),
            useBinaryFormat,
            acceptCompression: [compressionGzip],
            sendCompression: compressionGzip,
            compressMinBytes: 1,
            interceptors: [
              (next) => (request) => {
                request.header.set("a2a-version", "1.0");
                return next(request);
              },
            ],
          });
          const client = createClient(A2AService, transport);
          const streamed = await statesOf(client.sendStreamingMessage({ message: message("complete") }));
          assert.deepEqual(streamed, [TaskState.SUBMITTED, TaskState.WORKING, TaskState.COMPLETED]);
          const { payload } = await client.sendMessage({ message: message("complete") });
          assert.deepEqual([payload.case, payload.case === "task" && payload.value.status?.state], ["task", TaskState.COMPLETED]);
          for (const call of [() => client.getTask({ id: "t-1" }), () => statesOf(client.subscribeToTask({ id: "t-1" }))]) {
            const error = await errorOf(call());
            const [info] = error.findDetails(ErrorInfoSchema);
            assert.deepEqual([error.code, info?.reason, info?.metadata], [Code.NotFound, "TASK_NOT_FOUND", { taskId: "t-1" }]);
          }
          const gate = bed().agent.gate();
          const late = await errorOf(client.sendMessage({ message: message(`slow ${gate.name}`) }, { timeoutMs: 300 }));
          assert.equal(late.code, Code.DeadlineExceeded);
          gate.open();
        });
      }
    }
  }
});
