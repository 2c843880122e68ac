/** What callers and agents say comes through every wire and every store as it was said. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { JsonObject, JsonValue, MessageInitShape } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import type { MessageSchema } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import type { ReplyRequest } from "../../../src/core/agent.ts";
import { collect, everywhere, message, send, sharedBed, taskOf } from "../bed.ts";
import { ConnectCaller } from "../callers/connect.ts";
import { GrpcWebCaller } from "../callers/grpc-web.ts";
import type { HttpRequest } from "../callers/http.ts";
import { Echo, roundTrip, type Said } from "../echo.ts";

/** What a round trip shows: each message and artifact that any frame or task holds. */
const COPIES = 18;

/** The same everywhere a value can be: data of a part, metadata of part, message, artifact, request and event. */
function everyPlace(values: readonly JsonValue[]): Said {
  const metadata = Object.fromEntries(values.map((value, index) => [`v${index}`, value]));
  return { parts: [...values.map((data): JsonObject => ({ data })), { text: "", metadata }], metadata };
}

/** Each a value of its own, and the same nested in a list and in an object. */
function nested(values: readonly JsonValue[]): JsonValue[] {
  return [...values, [...values], [[[...values]]], { a: { b: [...values] } }];
}

/** Code points at the edges of each plane; surrogates are none. NUL, line ends, the byte order mark and non-characters are among them. */
const EDGES = [0, 1, 9, 10, 13, 0x1f, 0x22, 0x5c, 0x7f, 0x80, 0x85, 0x7ff, 0x800, 0x2028, 0x2029, 0xd7ff, 0xe000, 0xfeff, 0xfffd, 0xffff];
const PLANES = Array.from({ length: 16 }, (_, index) => [0, 0x41, 0xfffd, 0xfffe, 0xffff].map((low) => ((index + 1) << 16) | low));
const ALL_PLANES = String.fromCodePoint(...EDGES, ...PLANES.flat());

const NAMES = ["", "__proto__", "constructor", "toString", "@type", "a.b", "a[0]", "$", "\0", "\uFEFF", "💥", "é", "e\u0301"];

const CASES: Readonly<Record<string, Said>> = {
  "R-266 every JSON type": everyPlace(nested([null, true, false, 0, 1.5, -1, "", "null", "0", [], {}, [null], { a: null }])),
  "R-265 R-266 nothing but null": { parts: [{ data: null }], metadata: { n: null } },
  "numbers as large, as small and as long as a double can be": everyPlace(
    nested([2 ** 53 - 1, 2 ** 53, -(2 ** 53) + 1, 2 ** 53 + 2, 1e21, 1e-7, 0.1, 0.1 + 0.2, 5e-324, Number.MAX_VALUE, -Number.MAX_VALUE]),
  ),
  "R-276 text of every plane of Unicode": {
    parts: [
      { text: ALL_PLANES },
      { text: `\uFEFF${ALL_PLANES}` },
      { text: "x", filename: ALL_PLANES, mediaType: "text/plain; charset=utf-8" },
      { url: `https://example.com/${ALL_PLANES}` },
      { data: ALL_PLANES },
    ],
    metadata: { [ALL_PLANES]: ALL_PLANES },
  },
  "R-275 members of every name": everyPlace([
    // Not a literal: that would set a prototype.
    Object.fromEntries(NAMES.map((name, index) => [name, Object.fromEntries([[name, index]])])),
  ]),
  "R-263 bytes of every value, and none": {
    parts: [0, 1, 2, 3, 255, 256].map((length) => ({
      raw: Buffer.from(Array.from({ length }, (_, index) => 255 - index)).toString("base64"),
      filename: `${length}.bin`,
      mediaType: "application/octet-stream",
    })),
    metadata: {},
  },
  "an empty text, an empty URL and empty metadata": { parts: [{ text: "" }, { url: "" }, { data: {}, metadata: {} }], metadata: {} },
};

suite("what is said", () => {
  const bed = sharedBed({}, new Echo());

  for (const [name, said] of Object.entries(CASES)) {
    everywhere(
      `${name}: comes back as it was in messages, artifacts and events, whoever reads`,
      bed,
      async (caller, on) => {
        // Who reads is the bindings' affair, whatever the store.
        const readers = on === bed() ? on.callers : [caller];
        assert.equal(await roundTrip({ caller, readers }, said), COPIES);
        return undefined;
      },
      Object.keys(said.metadata).length > 0 ? {} : { behindFront: "positions ride in the metadata of events: empty is as none" },
    );
  }

  const text = fc.string({ unit: "binary", maxLength: 12 });
  const json = fc.jsonValue({ maxDepth: 5, stringUnit: "binary" }) as fc.Arbitrary<JsonValue>;
  const metadata = fc.dictionary(text, json, { maxKeys: 4 });
  const content = fc.oneof(
    text.map((said): JsonObject => ({ text: said })),
    json.map((data): JsonObject => ({ data })),
    fc.uint8Array({ maxLength: 40 }).map((raw): JsonObject => ({ raw: Buffer.from(raw).toString("base64") })),
    text.map((url): JsonObject => ({ url })),
  );
  const part = fc.tuple(content, fc.record({ metadata }, { requiredKeys: [] })).map(([one, more]): JsonObject => Object.assign(one, more));
  // Written and read once: JSON text has no negative zero.
  const anything = fc
    .record({ parts: fc.array(part, { minLength: 1, maxLength: 6 }), metadata })
    .map((said) => JSON.parse(JSON.stringify(said)) as Said);

  everywhere("anything: comes back as it was in messages, artifacts and events", bed, async (caller) => {
    const property = fc.asyncProperty(anything, async (said) => {
      assert.equal(await roundTrip({ caller, readers: [caller] }, said), COPIES);
    });
    await fc.assert(property, { seed: 20_261_103, numRuns: 6 });
    return undefined;
  });
});

suite("what is said at length", () => {
  // A reader that falls behind is to find what it has not seen.
  const bed = sharedBed({ windowBytes: 64 * 1024 * 1024 }, new Echo());

  // Large frames leave in slices: of these two one has its characters across the cuts.
  for (const offset of [0, 1]) {
    test(`R-276 comes back as it was, also where a frame is cut within a character: ${offset} before it`, async () => {
      const text = `${"x".repeat(offset)}${"💥".repeat(140_000)}`;
      for (const caller of bed().callers) {
        const { frames } = await collect(caller.stream("SendStreamingMessage", send(text)));
        const { message: task } = await caller.unary("GetTask", { id: (frames[0] as { task: { id: string } }).task.id });
        const said = (frames[2] as { artifactUpdate: { artifact: JsonObject } }).artifactUpdate.artifact;
        for (const { parts } of [said, ...(task["history"] as JsonObject[]), ...(task["artifacts"] as JsonObject[])]) {
          assert.ok((parts as [{ text: string }])[0].text === text, caller.binding);
        }
      }
    });
  }
});

suite("what is said in the JSON of Connect and gRPC-Web", () => {
  const bed = sharedBed({}, new Echo());

  for (const [name, said] of Object.entries(CASES)) {
    test(`${name}: comes back as it was`, async () => {
      const { http } = bed().server.ports;
      const connect = new ConnectCaller(http, { codec: "json", http: 1 });
      const grpcWeb = new GrpcWebCaller(http, { codec: "json", http: 2 });
      const callers = [connect, grpcWeb];
      using closing = new DisposableStack();
      for (const caller of callers) closing.defer(() => caller.close());
      for (const caller of callers) assert.equal(await roundTrip({ caller, readers: [...callers, ...bed().callers] }, said), COPIES);
    });
  }
});

/** Answers directly, with what it was asked. */
class DirectEcho extends Echo {
  override async reply({ message: { parts, metadata } }: ReplyRequest): Promise<MessageInitShape<typeof MessageSchema>> {
    return { parts, ...(metadata && { metadata }) };
  }
}

suite("what is answered directly", () => {
  const bed = sharedBed({}, new DirectEcho());

  for (const [name, { parts, metadata }] of Object.entries(CASES)) {
    everywhere(`${name}: comes back as it was`, bed, async (caller) => {
      const request = { message: message("", { parts: [...parts], metadata }) };
      const { message: reply } = await caller.unary("SendMessage", request);
      const { frames, end } = await collect(caller.stream("SendStreamingMessage", request));
      assert.deepEqual([frames.length, end], [1, "clean"]);
      for (const one of [reply, frames[0] ?? {}] as { message: JsonObject }[]) {
        assert.deepEqual([one.message["parts"], one.message["metadata"]], [parts, metadata]);
      }
      return undefined;
    });
  }
});

suite("the ids that a caller makes", () => {
  const bed = sharedBed();

  everywhere("may be of any characters: they are given back, told apart, and found again", bed, async (caller) => {
    const own = crypto.randomUUID();
    const contexts = [
      `${own}${ALL_PLANES}`,
      `${own}\uFEFF${ALL_PLANES}`,
      own,
      `${own} `,
      `${own}\0`,
      `${own}:1`,
      `${own}e\u0301`,
      `${own}é`,
    ];
    const ids = new Set<string>();
    for (const contextId of contexts) {
      const messageId = contextId;
      const task = taskOf(await caller.unary("SendMessage", send("return", { message: { contextId, messageId } })));
      const [said] = task["history"] as [JsonObject];
      assert.deepEqual([task.contextId, said["contextId"], said["messageId"]], [contextId, contextId, messageId]);
      ids.add(task.id);
    }
    assert.equal(ids.size, contexts.length);
    for (const contextId of contexts) {
      const { message: page } = await caller.unary("ListTasks", { contextId });
      assert.deepEqual([page["totalSize"], (page["tasks"] as JsonObject[])[0]?.["contextId"]], [1, contextId]);
    }
    return undefined;
  });
});

suite("JSON numbers", () => {
  const bed = sharedBed({}, new Echo());
  /** What JSON may write and no double holds exactly: read as the nearest double, written as its shortest digits. */
  const read: Readonly<Record<string, string>> = {
    "9007199254740993": "9007199254740992",
    "-9007199254740993": "-9007199254740992",
    "12345678901234567890": "12345678901234567000",
    "123456789012345678901234567890": "1.2345678901234568e+29",
    "0.1000000000000000055511151231257827": "0.1",
    "1.0": "1",
    "1E2": "100",
    "1e-400": "0",
    "-0": "0",
    "-0.0": "0",
  };
  const written = `[${Object.keys(read).join(",")}]`;
  const shown = `[${Object.values(read).join(",")}]`;
  /** A send whose data and metadata are this text. */
  const request = (text: string): string =>
    `{"message":{"messageId":"${crypto.randomUUID()}","role":"ROLE_USER","parts":[{"data":${text}}],"metadata":{"n":${text}}}}`;
  const forms: Readonly<Record<string, (text: string) => Omit<HttpRequest, "headers">>> = {
    "HTTP+JSON": (text) => ({ method: "POST", target: "/message:send", body: request(text) }),
    Connect: (text) => ({ method: "POST", target: "/lf.a2a.v1.A2AService/SendMessage", body: request(text) }),
    JSONRPC: (text) => ({
      method: "POST",
      target: "/jsonrpc",
      body: `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":${request(text)}}`,
    }),
  };
  for (const [name, form] of Object.entries(forms)) {
    const headers = [
      ["a2a-version", "1.0"],
      ["content-type", "application/json"],
    ] as const;

    test(`of any length are the nearest double, written with its shortest digits: ${name}`, async () => {
      const { rest, grpc } = bed();
      const { text } = await rest.http.fetch({ ...form(written), headers });
      const copies = [...text.matchAll(/"(?:data|n)":(\[[^\]]*\])/g)].map(([, copy]) => copy);
      assert.deepEqual(new Set(copies), new Set([shown]));
      assert.equal(copies.length, 8);
      // Binary keeps what JSON text cannot: the sign of zero.
      const [id = ""] = /[0-9a-f-]{36}/.exec(text.slice(text.indexOf('"id":"', text.indexOf('"task"')))) ?? [];
      const { message: task } = await grpc.unary("GetTask", { id });
      const [{ data }] = (task["history"] as { parts: [{ data: number[] }] }[])[0]?.parts ?? [{ data: [] }];
      assert.deepEqual(data.slice(-2), [-0, -0]);
      assert.equal(JSON.stringify(data), shown);
    });

    test(`beyond every double are refused by their place: ${name}`, async () => {
      const { text } = await bed().rest.http.fetch({ ...form('[1, {"a": -1e400}]'), headers });
      assert.match(text, /INVALID_ARGUMENT/);
      assert.match(text, /"field":"message\.parts\[0\]\.data\[1\]\.a"/);
      assert.match(text, /"field":"message\.metadata\.n\[1\]\.a"/);
    });
  }
});
