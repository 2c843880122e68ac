import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { createFileRegistry, type FileRegistry, fromBinary, getOption, type MessageInitShape } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Server, ServerCredentials, status as Code, type ServiceError } from "@grpc/grpc-js";
import { http } from "../../../gen/google/api/annotations_pb.ts";
import {
  ServerReflection,
  type ServerReflectionRequestSchema,
  type ServerReflectionResponse,
} from "../../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { Health } from "../../../gen/health/v1/health_pb.ts";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { Reflection } from "../../../src/bindings/grpc/reflection.ts";
import { listenGrpc } from "../../../src/bindings/grpc/server.ts";
import { openBed, sharedBed } from "../bed.ts";
import { type Conversation, SideCalls } from "../callers/side-calls.ts";

const V1 = ServerReflection.method.serverReflectionInfo;
// Another name of the package, and the same in every other way.
const ALPHA = ServerReflectionAlpha.method.serverReflectionInfo as unknown as typeof V1;
type Question = NonNullable<MessageInitShape<typeof ServerReflectionRequestSchema>["messageRequest"]>;
type Asked = Conversation<typeof V1>;

/** What a question is answered with. Both versions have the same messages. */
async function ask(conversation: Asked, messageRequest: Question | undefined): Promise<ServerReflectionResponse["messageResponse"]> {
  const question = messageRequest === undefined ? {} : { messageRequest };
  const answer = await conversation.ask({ host: "h", ...question });
  assert.ok(answer !== undefined, "the stream has ended");
  assert.equal(answer.validHost, "h");
  assert.equal(answer.originalRequest?.messageRequest.case, messageRequest?.case);
  return answer.messageResponse;
}

async function filesOf(conversation: Asked, question: Question): Promise<FileDescriptorProto[]> {
  const answer = await ask(conversation, question);
  assert.equal(
    answer.case,
    "fileDescriptorResponse",
    JSON.stringify(answer.value, (key, value) => (key === "$typeName" ? undefined : value)),
  );
  return answer.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
}

async function refusalOf(conversation: Asked, question: Question | undefined): Promise<[number, string]> {
  const answer = await ask(conversation, question);
  assert.equal(answer.case, "errorResponse");
  return [answer.value.errorCode, answer.value.errorMessage];
}

/** A schema as a client builds it up: it asks for what it lacks by name. */
function registryOf(files: readonly FileDescriptorProto[]): FileRegistry {
  const [main] = files;
  assert.ok(main !== undefined);
  return createFileRegistry(main, (name) => files.find((file) => file.name === name));
}

suite("gRPC reflection", { timeout: 60_000 }, () => {
  const bed = sharedBed({ tokens: { t: "alice" } });

  for (const method of [V1, ALPHA]) {
    test(`lists the services of the server (${method.parent.typeName})`, async () => {
      using calls = new SideCalls(bed().server.ports.grpc);
      using conversation = calls.duplex(method);
      const answer = await ask(conversation, { case: "listServices", value: "*" });
      assert.equal(answer.case, "listServicesResponse");
      const names = [A2AService, Health, ServerReflection, ServerReflectionAlpha].map(({ typeName }) => typeName);
      assert.deepEqual(answer.value.service.map(({ name }) => name).toSorted(), names.toSorted());
      conversation.end();
      assert.equal(await conversation.next(), undefined, "ended cleanly");
    });

    test(`hands a client that knows nothing all it needs to call each service (${method.parent.typeName})`, async () => {
      using calls = new SideCalls(bed().server.ports.grpc);
      for (const service of [A2AService, Health, ServerReflection, ServerReflectionAlpha]) {
        using conversation = calls.duplex(method);
        const files = await filesOf(conversation, { case: "fileContainingSymbol", value: service.typeName });
        const found = registryOf(files).getService(service.typeName) ?? assert.fail(service.typeName);
        assert.deepEqual(
          found.methods.map(({ name, methodKind, input, output }) => [name, methodKind, input.typeName, output.typeName]),
          service.methods.map(({ name, methodKind, input, output }) => [name, methodKind, input.typeName, output.typeName]),
        );
        // Gateways read the HTTP rules from here.
        for (const one of found.methods) assert.deepEqual(getOption(one, http), getOption(service.method[one.localName as never], http));
      }
    });
  }

  test("finds a file by its name and by anything declared in it, and sends no other file twice on a stream", async () => {
    using calls = new SideCalls(bed().server.ports.grpc);
    using conversation = calls.duplex(V1);
    const first = await filesOf(conversation, { case: "fileByFilename", value: "lf/a2a/v1/a2a.proto" });
    const names = first.map(({ name }) => name);
    assert.equal(names[0], "lf/a2a/v1/a2a.proto");
    for (const needed of first.flatMap(({ dependency }) => dependency)) assert.ok(names.includes(needed), needed);
    assert.equal(new Set(names).size, names.length);
    for (const symbol of [
      "lf.a2a.v1.A2AService",
      "lf.a2a.v1.A2AService.GetTask",
      "lf.a2a.v1.Task",
      "lf.a2a.v1.Task.context_id",
      "lf.a2a.v1.Part.content",
      "lf.a2a.v1.TaskState",
      "lf.a2a.v1.TASK_STATE_WORKING",
    ]) {
      const again = await filesOf(conversation, { case: "fileContainingSymbol", value: symbol });
      assert.deepEqual(
        again.map(({ name }) => name),
        ["lf/a2a/v1/a2a.proto"],
        symbol,
      );
    }
    const details = await filesOf(conversation, { case: "fileContainingSymbol", value: "google.rpc.ErrorInfo" });
    assert.deepEqual(
      details.map(({ name }) => name),
      ["google/rpc/error_details.proto"],
    );
    const nested = await filesOf(conversation, { case: "fileContainingSymbol", value: "grpc.health.v1.HealthCheckResponse.SERVING" });
    assert.deepEqual(
      nested.map(({ name }) => name),
      ["health/v1/health.proto"],
    );
  });

  test("finds extensions by what they extend and by their number", async () => {
    using calls = new SideCalls(bed().server.ports.grpc);
    using conversation = calls.duplex(V1);
    const containingType = "google.protobuf.MethodOptions";
    const question = { case: "fileContainingExtension", value: { containingType, extensionNumber: http.number } } as const;
    assert.equal((await filesOf(conversation, question))[0]?.name, "google/api/annotations.proto");
    const numbers = async (value: string): Promise<readonly number[]> => {
      const answer = await ask(conversation, { case: "allExtensionNumbersOfType", value });
      assert.equal(answer.case, "allExtensionNumbersResponse");
      assert.equal(answer.value.baseTypeName, value);
      return answer.value.extensionNumber;
    };
    assert.ok((await numbers(containingType)).includes(http.number));
    assert.deepEqual(await numbers("lf.a2a.v1.Task"), []);
  });

  test("refuses what is not there or asks nothing, and the stream goes on", async () => {
    using calls = new SideCalls(bed().server.ports.grpc);
    using conversation = calls.duplex(V1);
    for (const question of [
      { case: "fileByFilename", value: "a2a.proto" },
      { case: "fileByFilename", value: "" },
      { case: "fileContainingSymbol", value: "lf.a2a.v1.Missing" },
      { case: "fileContainingSymbol", value: "lf.a2a.v1" },
      { case: "fileContainingExtension", value: { containingType: "google.protobuf.MethodOptions", extensionNumber: 1 } },
      { case: "fileContainingExtension", value: { containingType: "lf.a2a.v1.Task", extensionNumber: http.number } },
      { case: "allExtensionNumbersOfType", value: "lf.a2a.v1.Missing" },
    ] satisfies Question[]) {
      const [code, text] = await refusalOf(conversation, question);
      assert.equal(code, Code.NOT_FOUND);
      assert.match(text, /^there is no such /);
    }
    assert.deepEqual(await refusalOf(conversation, undefined), [Code.INVALID_ARGUMENT, "the request asks for nothing"]);
    assert.equal((await ask(conversation, { case: "listServices", value: "" })).case, "listServicesResponse");
  });

  test("answers questions in their order, however many are asked at once", async () => {
    using calls = new SideCalls(bed().server.ports.grpc);
    using conversation = calls.duplex(V1);
    const symbols = Array.from({ length: 100 }, (_, at) => `missing.S${at}`);
    const asked = symbols.map((value) => conversation.ask({ messageRequest: { case: "fileContainingSymbol", value } }));
    const answers = await Promise.all(asked);
    assert.deepEqual(
      answers.map((answer) => answer?.originalRequest?.messageRequest.value),
      symbols,
    );
  });
});

test("an open reflection stream holds up no drain", { timeout: 60_000 }, async () => {
  // What is not ended by itself is cut only then.
  await using bed = await openBed({ stallFlushMs: 2_000_000_000 });
  using calls = new SideCalls(bed.server.ports.grpc);
  using conversation = calls.duplex(V1);
  await ask(conversation, { case: "listServices", value: "" });
  const ended = assert.rejects(conversation.next(), (error) => (error as ServiceError).code === Code.UNAVAILABLE);
  await bed.server.drain({ atOnce: true });
  await ended;
});

test("reflection is not there where it is turned off; health is", { timeout: 60_000 }, async () => {
  await using bed = await openBed({ reflection: false });
  using calls = new SideCalls(bed.server.ports.grpc);
  for (const method of [V1, ALPHA]) {
    using conversation = calls.duplex(method);
    const refused = conversation.ask({ messageRequest: { case: "listServices", value: "" } });
    await assert.rejects(refused, (error) => (error as ServiceError).code === Code.UNIMPLEMENTED);
  }
  await calls.unary(Health.method.check, {});
});

test("no more streams are open than a bound says", { timeout: 60_000 }, async () => {
  const server = new Server();
  new Reflection([Health], 1).addTo(server);
  using calls = new SideCalls(await listenGrpc(server, "127.0.0.1:0", ServerCredentials.createInsecure()));
  try {
    using first = calls.duplex(V1);
    await ask(first, { case: "listServices", value: "" });
    using second = calls.duplex(V1);
    const refused = second.ask({ messageRequest: { case: "listServices", value: "" } });
    await assert.rejects(refused, (error) => (error as ServiceError).code === Code.RESOURCE_EXHAUSTED);
    await ask(first, { case: "listServices", value: "" });
  } finally {
    server.forceShutdown();
  }
});
