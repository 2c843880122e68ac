import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { equals, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { parseBinaryInput } from "../../src/rpc/binary-input.ts";
import { REQUEST_BOUNDS } from "../../src/rpc/request-bounds.ts";
import { wireError } from "../../src/rpc/errors.ts";
import { message } from "../bindings/bed.ts";
import { arbitraryMessage } from "../unit/message-arbitrary.ts";
import { assertServes, sharedHostileBed } from "./bed.ts";
import { exchange, head, posted } from "./raw-http.ts";
import { goodRequest, METHODS } from "./request-fields.ts";
import { assertClean } from "./surface.ts";

const BODY = JSON.stringify({ message: message("x"), metadata: { k: [1, { l: null }] }, configuration: { historyLength: 1 } });

/** What may happen to bytes on their way. */
interface Change {
  readonly at: number;
  readonly remove: number;
  readonly insert: Uint8Array;
}

const change: fc.Arbitrary<Change> = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  remove: fc.nat({ max: 4 }),
  insert: fc.uint8Array({ maxLength: 4 }),
});
const changes: fc.Arbitrary<Change[]> = fc.array(change, { minLength: 1, maxLength: 4 });

function changed(bytes: Uint8Array, all: readonly Change[]): Buffer {
  return all.reduce((before, { at, remove, insert }) => {
    const place = Math.floor(at * before.length);
    return Buffer.concat([before.subarray(0, place), insert, before.subarray(place + remove)]);
  }, Buffer.from(bytes));
}

/** Reasons that blame the caller. */
const CALLERS_FAULT = new Set([
  "INVALID_ARGUMENT",
  "PARSE_ERROR",
  "INVALID_REQUEST",
  "METHOD_NOT_FOUND",
  "TASK_NOT_FOUND",
  "TASK_NOT_CANCELABLE",
  "UNSUPPORTED_OPERATION",
  "CONTENT_TYPE_NOT_SUPPORTED",
  "PATH_NOT_FOUND",
  "METHOD_NOT_ALLOWED",
]);

suite("random input is answered, and never by an error of our own", () => {
  const bed = sharedHostileBed();
  const port = (): number => bed().server.ports.http;

  test("bytes on the HTTP port", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        const received = await exchange(port(), bytes, { end: true });
        assertClean(received);
        assert.match(received, /^(?:HTTP\/1\.1 (?:[24]\d\d) |$)/);
      }),
      { numRuns: 100 },
    );
    for (const surface of bed().json) await assertServes(surface);
  });

  test("requests of HTTP in which bytes were changed", async () => {
    const requests = [
      posted("/message:send", BODY),
      posted("/jsonrpc", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":${BODY}}`),
    ];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...requests), changes, async (request, made) => {
        const received = await exchange(port(), changed(request, made), { end: true });
        assertClean(received);
        assert.match(received, /^(?:HTTP\/1\.1 [24]\d\d |$)/);
      }),
      { numRuns: 200 },
    );
    for (const surface of bed().json) await assertServes(surface);
  });

  test("JSON in which characters were changed, and any JSON at all", async () => {
    const text = fc.oneof(
      changes.map((made) => changed(Buffer.from(BODY), made)),
      fc.json({ maxDepth: 4 }).map((json) => Buffer.from(json)),
      fc
        .dictionary(fc.constantFrom("message", "metadata", "configuration", "tenant"), fc.jsonValue())
        .map((json) => Buffer.from(JSON.stringify(json))),
    );
    await fc.assert(
      fc.asyncProperty(text, async (body) => {
        const { text: reply, status } = await bed().rest.http.fetch({
          method: "POST",
          target: "/message:send",
          headers: [
            ["a2a-version", "1.0"],
            ["content-type", "application/json"],
          ],
          body,
        });
        assertClean(reply);
        assert.ok(status === 200 || CALLERS_FAULT.has(/"reason":"(\w+)"/.exec(reply)?.[1] ?? ""), reply);
      }),
      { numRuns: 300 },
    );
    await assertServes(bed().rest);
  });

  test("members of every request, of any JSON", async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...METHODS), fc.jsonValue(), fc.nat(), async (method, value, choice) => {
        const members = Object.entries({ ...goodRequest(method, bed().targets) });
        const field = method.input.fields[choice % method.input.fields.length];
        const body = [...members.filter(([name]) => name !== field?.jsonName), [field?.jsonName ?? "", value] as const];
        const { failure, received } = await bed().jsonRpc.send(method, {
          params: [],
          body: body.map(([name, held]) => [name, JSON.stringify(held)] as const),
        });
        assertClean(received);
        assert.ok(failure === undefined || CALLERS_FAULT.has(failure.reason ?? ""), `${method.name}: ${failure?.message}`);
      }),
      { numRuns: 300 },
    );
    await assertServes(bed().jsonRpc);
  });

  test("ids of any size in batches of any shape, each of which comes back as it came", async () => {
    const id = fc.constantFrom("9007199254740993", "-12345678901234567890", "1e400", "0.10", "1.5E-5", "123456789012345678901234567890.5");
    const space = fc.constantFrom("", " ", "\n", "\t \r\n");
    const noise = fc.constantFrom(
      '"{[\\"id\\":7,"',
      '{"id":8,"id":9}',
      '[{"id":1.5},{"id":[]}]',
      '"\\\\"',
      '"\\\\\\""',
      "[]",
      '{"\\u0069d":4}',
      "1.5",
    );
    const key = fc.constantFrom('"id"', '"\\u0069\\u0064"');
    const element = fc.tuple(id, space, noise, key, fc.boolean()).map(([number, gap, extra, name, first]) => {
      const own = `${name}${gap}:${gap}${number}`;
      const rest = `"jsonrpc":"2.0",${gap}"x":${extra},"method":"ListTasks","params":{"contextId":"none","y":${extra}}`;
      return { number, text: `{${gap}${first ? `${own},${rest}` : `"id":0.5,${rest},${own}`}${gap}}` };
    });
    const other = fc.constantFrom("null", "1.5", '"id"', '["id",5]', "[]", "{}").map((text) => ({ number: "null", text }));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(element, other), { minLength: 1, maxLength: 8 }), space, async (elements, gap) => {
        const { text } = await bed().jsonRpc.http.fetch({
          method: "POST",
          target: "/jsonrpc",
          headers: [["a2a-version", "1.0"]],
          body: `${gap}[${elements.map((one) => gap + one.text).join(`${gap},`)}]`,
        });
        const ids = [...text.matchAll(/"jsonrpc":"2\.0","id":([^,]+),"(?:result|error)"/g)].map((match) => match[1]);
        assert.deepEqual(
          ids,
          elements.map(({ number }) => number),
        );
      }),
      { numRuns: 200 },
    );
  });

  test("paths and queries", async () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "/tasks",
        "/message:send",
        ":cancel",
        "/",
        "?",
        "&",
        "=",
        "%",
        "%2F",
        "pageSize",
        "id",
        "x",
        "..",
        "pushNotificationConfigs",
        "+",
        "*",
      ),
      fc.string({ unit: fc.constantFrom(..."abc019%/?&=.:;,@!$'()~-_[]{}|^<>\"`\\".split("")), maxLength: 4 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom("GET", "POST", "DELETE"), fc.array(piece, { maxLength: 8 }), async (verb, pieces) => {
        const received = await exchange(port(), head(`${verb} /${pieces.join("")}`));
        assertClean(received);
        assert.match(received, /^HTTP\/1\.1 [24]\d\d /);
      }),
      { numRuns: 200 },
    );
    await assertServes(bed().rest);
  });

  test("binary in which bytes were changed, on every method", async () => {
    const requests = METHODS.flatMap((method) =>
      fc.sample(arbitraryMessage(method.input), 5).map((one) => ({ method, bytes: toBinary(method.input, one) })),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...requests), changes, async ({ method, bytes }, made) => {
        for (const surface of bed().binary) {
          const { failure, received } = await surface.send(method, changed(bytes, made));
          assertClean(received);
          assert.ok(failure === undefined || CALLERS_FAULT.has(failure.reason ?? ""), `${failure?.reason}: ${failure?.message}`);
        }
      }),
      { numRuns: 300 },
    );
    for (const surface of bed().binary) await assertServes(surface);
  });
});

suite("binary is read as it was written", () => {
  for (const input of new Set(METHODS.map((method) => method.input))) {
    test(input.name, () => {
      const arbitrary: fc.Arbitrary<Message> = arbitraryMessage(input);
      fc.assert(
        fc.property(arbitrary, (one) => assert.ok(equals(input, parseBinaryInput(input, toBinary(input, one), REQUEST_BOUNDS), one))),
        { numRuns: 100 },
      );
      fc.assert(
        fc.property(arbitrary, changes, fc.uint8Array(), (one, made, any) => {
          for (const bytes of [changed(toBinary(input, one), made), any]) {
            try {
              const read = parseBinaryInput(input, bytes, REQUEST_BOUNDS);
              assert.ok(equals(input, fromBinary(input, toBinary(input, read)), read));
            } catch (error) {
              assert.equal(wireError(error).reason, "INVALID_ARGUMENT");
              assert.doesNotMatch(wireError(error).message, /is no valid/, "the wire was judged before it was decoded");
            }
          }
        }),
        { numRuns: 300 },
      );
    });
  }
});
