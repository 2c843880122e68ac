import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create, type JsonObject, type JsonValue, toBinary } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { ListTasksRequestSchema, Role, SendMessageRequestSchema } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { errorOf, everywhere, failureOf, message, send, sharedBed, taskOf } from "../bed.ts";
import { checkFailure } from "../failures.ts";
import { ScenarioAgent } from "../scenario-agent.ts";

suite("a send that is not valid", () => {
  const bed = sharedBed();
  const long = "x".repeat(513);
  const cases: Readonly<Record<string, readonly [request: () => JsonObject, fields: readonly string[]]>> = {
    "no message": [() => ({}), ["message"]],
    "an empty message": [() => ({ message: {} }), ["message.messageId", "message.role", "message.parts"]],
    "no messageId": [() => ({ message: { ...message("return"), messageId: "" } }), ["message.messageId"]],
    "no role": [() => ({ message: { ...message("return"), role: "ROLE_UNSPECIFIED" } }), ["message.role"]],
    "the agent's role": [() => ({ message: { ...message("return"), role: "ROLE_AGENT" } }), ["message.role"]],
    "a role by a number that nothing has": [() => ({ message: { ...message("return"), role: 9 } }), ["message.role"]],
    "no parts": [() => ({ message: { ...message("return"), parts: [] } }), ["message.parts"]],
    "parts without content": [
      () => ({ message: { ...message("return"), parts: [{ text: "return" }, {}, { mediaType: "text/plain" }] } }),
      ["message.parts[1]", "message.parts[2]"],
    ],
    "ids beyond all measure": [
      () => ({ message: { ...message("return"), messageId: long, contextId: long, taskId: long } }),
      ["message.messageId", "message.contextId", "message.taskId"],
    ],
    "a negative historyLength and no parts": [
      () => ({ message: { ...message("return"), parts: [] }, configuration: { historyLength: -3 } }),
      ["message.parts", "configuration.historyLength"],
    ],
  };
  for (const [name, [request, fields]] of Object.entries(cases)) {
    everywhere(
      `R-148 R-228 R-237 R-250 R-251 R-268 R-269 C-17 C-30 C-41 PR-08 names each bad field, in every way to wait: ${name}`,
      bed,
      async (caller) => {
        const calls = [caller.unary("SendMessage", request()), caller.stream("SendStreamingMessage", request())];
        const failures = await Promise.all(calls.map(failureOf));
        return failures.map((failure) => checkFailure(caller, failure, "INVALID_ARGUMENT", fields));
      },
    );
  }

  everywhere("is refused in a message short enough for a trailer, however many fields are bad", bed, async (caller) => {
    const parts = Array.from({ length: 500 }, () => ({ filename: "f" }));
    const error = await errorOf(caller.unary("SendMessage", { message: { ...message("return"), parts } }));
    const { violations } = error.failure;
    assert.ok(violations.length > 5 && violations.length < 100);
    assert.equal(violations.at(-1), "");
    assert.equal(violations[0], "message.parts[0]");
    return violations;
  });

  everywhere("R-177 has an empty text or empty data: that is content", bed, async (caller) => {
    const parts = [{ text: "return" }, { text: "" }, { data: {} }, { raw: "" }, { url: "" }];
    return (await caller.unary("SendMessage", send("", { message: { parts } }))).message;
  });
});

suite("JSON within a message", () => {
  const bed = sharedBed();
  const nested = (depth: number): JsonValue => (depth === 0 ? 1 : [nested(depth - 1)]);
  /** Beyond this a protobuf decoder somewhere on the way would give up. */
  const DEEPEST = 43;

  everywhere("R-370 may nest as deep on every binding, and comes back from all", bed, async (caller, { callers }) => {
    const { id } = taskOf(await caller.unary("SendMessage", send("return", { message: { metadata: { k: nested(DEEPEST) } } })));
    const read = await Promise.all(callers.map((other) => other.unary("GetTask", { id })));
    for (const { message: task } of read) assert.deepEqual(task, read[0]?.message);
    const failure = await failureOf(caller.unary("SendMessage", send("return", { message: { metadata: { k: nested(DEEPEST + 1) } } })));
    assert.equal(failure.reason, "INVALID_ARGUMENT");
    return undefined;
  });
});

suite("a request for a task that is not valid", () => {
  const bed = sharedBed();

  everywhere("R-250 names an id that is too long", bed, async (caller) => {
    const id = "x".repeat(513);
    const calls = [caller.unary("GetTask", { id }), caller.unary("CancelTask", { id }), caller.stream("SubscribeToTask", { id })];
    const failures = await Promise.all(calls.map(failureOf));
    return failures.map((failure) => checkFailure(caller, failure, "INVALID_ARGUMENT", ["id"]));
  });

  everywhere("R-040 is answered alike whatever characters its id has", bed, async (caller) => {
    const failures = [];
    for (const id of ["a b", "a:b", "a%2Fb", "a/b", "ü💥", "x:cancel", "..", "a?b#c"]) {
      // These two are no paths, they are somewhere else on the way.
      if (id === "..") continue;
      failures.push(checkFailure(caller, await failureOf(caller.unary("GetTask", { id })), "TASK_NOT_FOUND"));
    }
    return failures;
  });

  test("R-268 C-30 names an id that is missing, where the binding can leave it out", async () => {
    for (const caller of bed().callers.filter(({ binding }) => binding !== "rest")) {
      const calls = [caller.unary("GetTask", {}), caller.unary("CancelTask", {}), caller.stream("SubscribeToTask", {})];
      for (const failure of await Promise.all(calls.map(failureOf))) checkFailure(caller, failure, "INVALID_ARGUMENT", ["id"]);
    }
  });
});

suite("names beyond all measure", () => {
  const bed = sharedBed({ tenants: "any" });
  const long = "x".repeat(513);

  everywhere("R-251 are named: a list's context, a tenant", bed, async (caller) => {
    const context = await failureOf(caller.unary("ListTasks", { contextId: long }));
    const tenant = await failureOf(caller.unary("ListTasks", { tenant: long }));
    return [checkFailure(caller, context, "INVALID_ARGUMENT", ["contextId"]), checkFailure(caller, tenant, "INVALID_ARGUMENT", ["tenant"])];
  });
});

suite("media types", () => {
  const card = {
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/*"],
    skills: [{ id: "s", name: "s", description: "s", tags: [], inputModes: ["image/png"], outputModes: ["application/json"] }],
  };
  const bed = sharedBed({}, new ScenarioAgent({ card }));
  const part = (mediaType: string): JsonObject => send("", { message: { parts: [{ text: "return", mediaType }] } });

  everywhere("R-014 that the agent or a skill takes are taken, parameters and case aside", bed, async (caller) => {
    for (const mediaType of ["text/plain", "Text/PLAIN; charset=utf-8", "image/png", ""])
      await caller.unary("SendMessage", part(mediaType));
    return undefined;
  });

  everywhere("R-014 R-034 R-370 that nobody takes are refused, in every way to wait, and nothing begins", bed, async (caller) => {
    const contextId = crypto.randomUUID();
    const request = send("", { message: { contextId, parts: [{ text: "return" }, { url: "https://e.x/", mediaType: "audio/ogg" }] } });
    const calls = [caller.unary("SendMessage", request), caller.stream("SendStreamingMessage", request)];
    const failures = await Promise.all(calls.map(failureOf));
    assert.equal((await caller.unary("ListTasks", { contextId })).message["totalSize"], undefined);
    return failures.map((failure) => checkFailure(caller, failure, "CONTENT_TYPE_NOT_SUPPORTED"));
  });

  everywhere("R-014 R-034 that nobody takes are refused on a task that exists too, which stays as it is", bed, async (caller) => {
    const { id } = taskOf(await caller.unary("SendMessage", send("input")));
    const refusedParts = { message: { taskId: id, parts: [{ text: "complete", mediaType: "audio/ogg" }] } };
    const requests = [
      send("", refusedParts),
      send("complete", { message: { taskId: id }, configuration: { acceptedOutputModes: ["audio/ogg"] } }),
    ];
    const calls = requests.flatMap((request) => [caller.unary("SendMessage", request), caller.stream("SendStreamingMessage", request)]);
    const failures = await Promise.all(calls.map(failureOf));
    const { message: task } = await caller.unary("GetTask", { id });
    assert.equal((task["status"] as JsonObject)["state"], "TASK_STATE_INPUT_REQUIRED");
    return [failures.map((failure) => checkFailure(caller, failure, "CONTENT_TYPE_NOT_SUPPORTED")), task];
  });

  everywhere("that are longer than any error may be are cut in it", bed, async (caller) => {
    const failure = await failureOf(caller.unary("SendMessage", part(`audio/${"x".repeat(100_000)}`)));
    assert.ok(JSON.stringify(failure).length < 2000);
    return checkFailure(caller, failure, "CONTENT_TYPE_NOT_SUPPORTED");
  });

  everywhere("R-038 C-58 that a caller accepts must be given by the agent, if only one of them", bed, async (caller) => {
    const accept = (...acceptedOutputModes: string[]): JsonObject => send("return", { configuration: { acceptedOutputModes } });
    for (const modes of [["text/html"], ["application/json"], ["audio/ogg", "text/plain"], ["*/*"]])
      await caller.unary("SendMessage", accept(...modes));
    const failure = await failureOf(caller.unary("SendMessage", accept("audio/ogg", "video/*")));
    return checkFailure(caller, failure, "CONTENT_TYPE_NOT_SUPPORTED");
  });
});

suite("what only gRPC can send", () => {
  const bed = sharedBed();
  const bytesOf = (init: Parameters<typeof create<typeof SendMessageRequestSchema>>[1]): Uint8Array =>
    toBinary(SendMessageRequestSchema, create(SendMessageRequestSchema, init));
  const said = { messageId: crypto.randomUUID(), role: Role.USER };

  const cases: Readonly<Record<string, Uint8Array>> = {
    "data that is no value": bytesOf({ message: { ...said, parts: [{ content: { case: "data", value: create(ValueSchema) } }] } }),
    "data that is not a number": bytesOf({
      message: { ...said, parts: [{ content: { case: "data", value: { kind: { case: "numberValue", value: NaN } } } }] },
    }),
    "data with infinity in a list": bytesOf({
      message: {
        ...said,
        parts: [
          {
            content: {
              case: "data",
              value: { kind: { case: "listValue", value: { values: [{ kind: { case: "numberValue", value: Infinity } }] } } },
            },
          },
        ],
      },
    }),
    "data with a member that is no value": bytesOf({
      message: {
        ...said,
        parts: [{ content: { case: "data", value: { kind: { case: "structValue", value: { fields: { k: create(ValueSchema) } } } } } }],
      },
    }),
  };
  for (const [name, request] of Object.entries(cases)) {
    test(`and no JSON can say is bad input: ${name}`, async () => {
      const { failure } = await errorOf(bed().grpc.unaryBytes("SendMessage", request));
      checkFailure(bed().grpc, failure, "INVALID_ARGUMENT", ["message.parts[0].data"]);
    });
  }

  test("metadata that is not a number is bad input too", async () => {
    const parts = [{ content: { case: "text", value: "return" } as const }];
    for (const [request, field] of [
      [bytesOf({ message: { ...said, parts, metadata: { deep: [{ er: NaN }] } } }), "message.metadata"],
      [bytesOf({ message: { ...said, parts }, metadata: { k: -Infinity } }), "metadata"],
    ] as const) {
      const { failure } = await errorOf(bed().grpc.unaryBytes("SendMessage", request));
      checkFailure(bed().grpc, failure, "INVALID_ARGUMENT", [field]);
    }
  });

  test("bytes that are no message are bad input", async () => {
    for (const [request, field] of [
      [Uint8Array.of(255), ""],
      // The tenant, longer than what there is of it.
      [Uint8Array.of(10, 200), "tenant"],
      [Buffer.from("{}"), ""],
    ] as const) {
      const { failure } = await errorOf(bed().grpc.unaryBytes("SendMessage", request));
      checkFailure(bed().grpc, failure, "INVALID_ARGUMENT", [field]);
    }
  });

  test("text that is no UTF-8 is bad input", async () => {
    // message.messageId = one byte that begins no character
    const request = Uint8Array.of(18, 3, 10, 1, 0xff);
    const { failure } = await errorOf(bed().grpc.unaryBytes("SendMessage", request));
    checkFailure(bed().grpc, failure, "INVALID_ARGUMENT", ["message.messageId"]);
  });

  test("a time out of all bounds is bad input", async () => {
    // statusTimestampAfter with 2^40 seconds, and with 2^31-1 nanoseconds
    const tag = (ListTasksRequestSchema.field.statusTimestampAfter.number << 3) | 2;
    for (const timestamp of [
      [8, 128, 128, 128, 128, 128, 32],
      [16, 255, 255, 255, 255, 7],
    ]) {
      const { failure } = await errorOf(bed().grpc.unaryBytes("ListTasks", Uint8Array.of(tag, timestamp.length, ...timestamp)));
      checkFailure(bed().grpc, failure, "INVALID_ARGUMENT", ["statusTimestampAfter"]);
    }
  });
});
