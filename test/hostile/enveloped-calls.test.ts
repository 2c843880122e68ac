import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { suite, test } from "node:test";
import { gzipSync } from "node:zlib";
import { CallFailed, type Failure } from "../bindings/callers/caller.ts";
import { CONNECT_ENDING, connectFailure } from "../bindings/callers/connect.ts";
import { type Ending, envelope, messagesOf, pathOf } from "../bindings/callers/envelopes.ts";
import { GRPC_WEB_ENDING } from "../bindings/callers/grpc-web.ts";
import { type HttpVersion, type Wire, wireTo } from "../bindings/callers/wire.ts";
import { assertServes, sharedHostileBed } from "./bed.ts";
import { assertClean, onOneLine } from "./surface.ts";
import { record } from "./wire.ts";

/** A form of a call: its media type, a method that may be called so, and how its reply ends. */
interface Form {
  readonly type: string;
  readonly method: string;
  readonly ending: Ending | undefined;
  readonly coding: string;
  readonly timeout: string;
}

const UNARY: Form = {
  type: "application/proto",
  method: "ListTasks",
  ending: undefined,
  coding: "content-encoding",
  timeout: "connect-timeout-ms",
};
const STREAM: Form = {
  type: "application/connect+proto",
  method: "SubscribeToTask",
  ending: CONNECT_ENDING,
  coding: "connect-content-encoding",
  timeout: "connect-timeout-ms",
};
const WEB: Form = {
  type: "application/grpc-web+proto",
  method: "ListTasks",
  ending: GRPC_WEB_ENDING,
  coding: "grpc-encoding",
  timeout: "grpc-timeout",
};
const FORMS = [UNARY, STREAM, WEB];

/** ListTasks of no context; to SubscribeToTask the same bytes name a task that is none. */
const MESSAGE = record(2, Buffer.from("none"));
const MAX = 100_000;

suite("a call of Connect or gRPC-Web that is no call", () => {
  const bed = sharedHostileBed({ maxMessageBytes: MAX });
  const wires = new Map<HttpVersion, Wire>();
  const wire = (version: HttpVersion): Wire => {
    const known = wires.get(version) ?? wireTo(bed().server.ports.http, version);
    wires.set(version, known);
    return known;
  };
  test.after(() => wires.forEach((one) => one.close()));

  /** The failure that a body leads to; undefined for none. */
  const call = async (form: Form, body: Uint8Array, headers: Readonly<Record<string, string>> = {}): Promise<Failure | undefined> => {
    const failures: (Failure | undefined)[] = [];
    for (const version of [1, 2] as const) {
      const reply = await wire(version).open({
        method: "POST",
        target: pathOf(form.method),
        headers: Object.entries({ "a2a-version": "1.0", "content-type": form.type, ...headers }),
        body,
      });
      const bytes = await buffer(reply.body);
      assertClean([...[...reply.headers].map((pair) => pair.join(": ")), onOneLine(bytes.toString("latin1"))].join("\n"));
      failures.push(await failureOf(form, { ...reply, body: Readable.from([bytes]) }));
    }
    assert.deepEqual(failures[1], failures[0], "the same over both versions of HTTP");
    for (const surface of bed().binary) await assertServes(surface);
    return failures[0];
  };
  const failureOf = async ({ ending, type }: Form, reply: Parameters<typeof messagesOf>[0]): Promise<Failure | undefined> => {
    if (ending === undefined) return reply.status === 200 ? undefined : connectFailure(reply);
    try {
      for await (const message of messagesOf(reply, type, ending)) void message;
      return undefined;
    } catch (error) {
      if (error instanceof CallFailed) return error.failure;
      throw error;
    }
  };
  const good = ({ ending }: Form): Buffer => (ending === undefined ? MESSAGE : envelope(MESSAGE));
  /** What a good call of the form is answered. */
  const GOOD: ReadonlySet<string | undefined> = new Set([undefined, "TASK_NOT_FOUND"]);

  const lying = (length: number, bytes: Buffer = MESSAGE): Buffer => {
    const written = envelope(bytes);
    written.writeUInt32BE(length, 1);
    return written;
  };
  for (const [name, body] of [
    ["nothing", Buffer.alloc(0)],
    ["half a head", Buffer.alloc(3)],
    ["a message without an envelope", MESSAGE],
    ["more than comes", lying(1000)],
    ["less than comes", lying(2)],
    ["four gigabytes", lying(2 ** 32 - 1)],
    ["two messages", Buffer.concat([envelope(MESSAGE), envelope(MESSAGE)])],
    ["a message and a byte", Buffer.concat([envelope(MESSAGE), Buffer.of(0)])],
    ["a flag that nobody knows", envelope(MESSAGE, 4)],
    ["every flag", envelope(MESSAGE, 255)],
    ["the last envelope of Connect", envelope(Buffer.from("{}"), 2)],
    ["the last envelope of gRPC-Web", envelope(Buffer.from("grpc-status: 0\r\n"), 128)],
    ["a compressed message that no header tells of", envelope(gzipSync(MESSAGE), 1)],
    ["gRPC-Web's text form", Buffer.from(envelope(MESSAGE).toString("base64"))],
  ] as const) {
    test(`is told what an envelope holds, where it holds ${name}`, async () => {
      for (const form of [STREAM, WEB]) {
        const failure = await call(form, body);
        assert.deepEqual([failure?.reason, failure?.code], ["INVALID_REQUEST", 3], failure?.message);
      }
    });
  }

  for (const form of FORMS) {
    const packed = (bytes: Uint8Array): Buffer => (form.ending === undefined ? Buffer.from(bytes) : envelope(bytes, 1));

    test(`may be compressed, and no further than a request may be long: ${form.type}`, async () => {
      const gzip = { [form.coding]: "gzip" };
      assert.ok(GOOD.has((await call(form, packed(gzipSync(MESSAGE)), gzip))?.reason));
      for (const [bytes, reason, code] of [
        [gzipSync(Buffer.alloc(100_000_000)), "MESSAGE_TOO_LARGE", 8],
        [gzipSync(Buffer.alloc(MAX + 1)), "MESSAGE_TOO_LARGE", 8],
        [gzipSync(MESSAGE).subarray(0, -6), "INVALID_REQUEST", 3],
        [MESSAGE, "INVALID_REQUEST", 3],
      ] as const) {
        const failure = await call(form, packed(bytes), gzip);
        assert.deepEqual([failure?.reason, failure?.code], [reason, code], failure?.message);
      }
      for (const coding of ["br", "deflate", "zstd", "gzip, gzip", "GZIP", "\u00ff"]) {
        const failure = await call(form, packed(MESSAGE), { [form.coding]: coding });
        assert.deepEqual([failure?.reason, failure?.code], ["UNSUPPORTED_ENCODING", 12], coding);
      }
    });

    test(`R-370 is refused one byte beyond the limit and taken at it: ${form.type}`, async () => {
      const padded = (length: number): Buffer => {
        const pad = record(15, Buffer.alloc(length - MESSAGE.length - 4));
        const bytes = Buffer.concat([MESSAGE, pad]);
        assert.equal(bytes.length, length);
        return form.ending === undefined ? bytes : envelope(bytes);
      };
      assert.ok(GOOD.has((await call(form, padded(MAX)))?.reason));
      assert.equal((await call(form, padded(MAX + 1)))?.reason, "MESSAGE_TOO_LARGE");
    });

    test(`is served or told, whatever its deadline says: ${form.type}`, async () => {
      for (const timeout of ["-1", "soon", "1e3", "1.5", "99999999999999", "9".repeat(5000), "0x1", "1S2", "\u00ff"]) {
        const failure = await call(form, good(form), { [form.timeout]: timeout });
        assert.deepEqual([failure?.reason, failure?.violations], ["INVALID_ARGUMENT", [form.timeout]], timeout);
      }
    });

    test(`is told that there is no such method: ${form.type}`, async () => {
      for (const method of ["Nothing", "sendMessage", "constructor", "__proto__", "%53endMessage", "ListTasks%00"]) {
        const failure = await call({ ...form, method }, good(form));
        assert.deepEqual([failure?.reason, failure?.code], ["METHOD_NOT_FOUND", 12], method);
      }
    });
  }

  test("is answered 415 with what is taken where its type is none of the method's", async () => {
    const types = [
      "",
      "text/plain",
      "application/grpc",
      "application/grpc+proto",
      "application/grpc-web-text",
      "application/connect+xml",
      "application/x-protobuf",
    ];
    for (const version of [1, 2] as const) {
      for (const [method, more] of [
        ["ListTasks", "application/connect+proto"],
        ["SubscribeToTask", "application/proto"],
      ] as const) {
        for (const type of [...types, more]) {
          const reply = await wire(version).open({
            method: "POST",
            target: pathOf(method),
            headers: [["content-type", type]],
            body: MESSAGE,
          });
          const text = (await buffer(reply.body)).toString();
          assertClean(text);
          assert.equal(reply.status, 415, type);
          assert.match(reply.headers.get("accept-post") ?? "", /application\/grpc-web\+proto/);
        }
      }
    }
    for (const surface of bed().binary) await assertServes(surface);
  });

  test("C-66 is posted: every other verb is answered 405", async () => {
    for (const version of [1, 2] as const) {
      for (const verb of ["GET", "PUT", "DELETE", "PATCH", "HEAD"]) {
        const target = `${pathOf("GetTask")}?connect=v1&encoding=json&message=%7B%7D`;
        const reply = await wire(version).open({ method: verb, target, headers: [["a2a-version", "1.0"]] });
        await buffer(reply.body);
        assert.deepEqual([reply.status, reply.headers.get("allow")], [405, "POST"], verb);
      }
    }
  });
});
