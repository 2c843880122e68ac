import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create, type DescMessage, equals, fromBinary, type JsonObject, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import * as fc from "fast-check";
import {
  file_lf_a2a_v1_a2a,
  ListTasksRequestSchema,
  SendMessageRequestSchema,
  SendMessageResponseSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import { wireError } from "../../src/rpc/errors.ts";
import { invalidFields, type JsonInputOptions, parseJsonInput } from "../../src/rpc/json-input.ts";
import { REQUEST_BOUNDS } from "../../src/rpc/request-bounds.ts";
import { ProbeSchema } from "../gen/probe_pb.ts";
import { arbitraryMessage } from "./message-arbitrary.ts";

type Violations = Record<string, string>;

/** The violations of a refused input, by field. */
function refusal(desc: DescMessage, json: unknown, path = "", options: JsonInputOptions = {}): Violations {
  let thrown: unknown;
  try {
    parseJsonInput(desc, json as JsonValue, path, options);
  } catch (error) {
    thrown = error;
  }
  assert.ok(thrown instanceof ConnectError, "was accepted");
  assert.deepEqual([thrown.code, wireError(thrown).reason], [Code.InvalidArgument, "INVALID_ARGUMENT"]);
  const violations = thrown.findDetails(BadRequestSchema).flatMap((bad) => bad.fieldViolations);
  return Object.fromEntries(violations.map(({ field, description }) => [field, description]));
}

function accepted(json: unknown): JsonValue {
  return toJson(ProbeSchema, parseJsonInput(ProbeSchema, json as JsonValue));
}

function refused(cases: Record<string, readonly unknown[]>, description: RegExp): void {
  for (const [name, values] of Object.entries(cases)) {
    for (const value of values) {
      const found = refusal(ProbeSchema, { [name]: value });
      assert.deepEqual(Object.keys(found), [name], JSON.stringify(value));
      assert.match(found[name] ?? "", description);
    }
  }
}

const nested = (levels: number, wrap: (inner: JsonValue) => JsonValue): JsonValue => {
  let json: JsonValue = 1;
  for (let level = 0; level < levels; level++) json = wrap(json);
  return json;
};

suite("R-006 R-265 every message comes back as it was written", () => {
  for (const desc of [...file_lf_a2a_v1_a2a.messages, ProbeSchema]) {
    test(desc.name, () => {
      fc.assert(
        fc.property(arbitraryMessage(desc), (message) => {
          const json = toJson(desc, message);
          assert.ok(equals(desc, parseJsonInput(desc, json), message));
          const protoNames = toJson(desc, message, { useProtoFieldName: true, enumAsInteger: true });
          assert.ok(equals(desc, parseJsonInput(desc, protoNames), message));
          assert.ok(equals(desc, parseJsonInput(desc, JSON.parse(JSON.stringify(json)) as JsonValue), message));
        }),
        { numRuns: 40 },
      );
    });
  }

  test("nothing but INVALID_ARGUMENT is thrown for any JSON whatever", () => {
    const keys = fc.constantFrom(...ProbeSchema.fields.flatMap((field) => [field.name, field.jsonName]));
    const value = fc.jsonValue({ stringUnit: "binary" });
    fc.assert(
      fc.property(fc.dictionary(keys, fc.oneof(value, fc.dictionary(fc.constantFrom("id", "inner", "at", "a"), value))), (json) => {
        try {
          toBinary(ProbeSchema, parseJsonInput(ProbeSchema, json as JsonObject));
        } catch (error) {
          assert.equal(wireError(error).reason, "INVALID_ARGUMENT");
          assert.doesNotMatch(wireError(error).message, /is no valid|cannot decode/, "the walk has found it before the decoder");
        }
      }),
      { numRuns: 2000 },
    );
  });
});

suite("what is taken", () => {
  test("R-271 C-46 unknown members are ignored at every level, whatever they hold", () => {
    assert.deepEqual(accepted({ zzz: { a: [1] }, "[ext.name]": 1, child: { id: "x", other: nested(500, (inner) => [inner]) } }), {
      child: { id: "x" },
    });
  });

  test("R-265 null is unset, but a value of google.protobuf.Value", () => {
    assert.deepEqual(
      accepted({ name: null, i32: null, color: null, tags: null, labels: null, child: null, at: null, meta: null, optText: null }),
      {},
    );
    assert.deepEqual(accepted({ val: null }), { val: null });
  });

  test("a null beside another member of its oneof is no second member", () => {
    assert.deepEqual(accepted({ pickText: null, pickNum: 1 }), { pickNum: 1 });
    const answer = parseJsonInput(SendMessageResponseSchema, { task: null, message: { messageId: "m" } });
    assert.equal(answer.payload.case, "message");
  });

  test("R-264 integers may be strings, whole floats and whole exponents", () => {
    assert.deepEqual(accepted({ i32: "7", u32: 7.0, u64: "18446744073709551615", nums: ["1e2", 3e2] }), {
      i32: 7,
      u32: 7,
      u64: "18446744073709551615",
      nums: [100, 300],
    });
  });

  test("floats may be strings and the three special names", () => {
    assert.deepEqual(accepted({ f32: "1.5", f64: "-Infinity" }), { f32: 1.5, f64: "-Infinity" });
    assert.deepEqual(accepted({ f64: "NaN" }), { f64: "NaN" });
  });

  test("R-263 bytes may be in either base64 alphabet, padded or not", () => {
    for (const blob of ["+/8=", "-_8=", "-_8", "+/8"]) assert.deepEqual(accepted({ blob }), { blob: "+/8=" });
  });

  test("R-265 enum numbers are taken, unknown ones too", () => {
    assert.deepEqual(accepted({ color: 2, colors: [-3, 1] }), { color: "COLOR_BLUE", colors: ["COLOR_NEGATIVE", "COLOR_RED"] });
    assert.equal(parseJsonInput(ProbeSchema, { color: 99 }).color, 99);
  });

  test("R-262 C-57 times may have any number of fraction digits, cut at nanoseconds, and an offset", () => {
    assert.deepEqual(accepted({ at: "2021-01-01T01:30:00.123456789987654321+01:30" }), { at: "2021-01-01T00:00:00.123456789Z" });
    assert.deepEqual(accepted({ times: ["2024-02-29T23:59:59Z"] }), { times: ["2024-02-29T23:59:59Z"] });
  });

  test("__proto__ is a key like any other", () => {
    const json = JSON.parse('{"labels":{"__proto__":"x"},"meta":{"__proto__":{"a":1}},"__proto__":1,"name":null}') as JsonValue;
    assert.equal(JSON.stringify(accepted(json)), '{"labels":{"__proto__":"x"},"meta":{"__proto__":{"a":1}}}');
  });
});

suite("what is refused, each with its place", () => {
  test("a wrong JSON type", () => {
    refused({ name: [1, true, {}, []], display_name: [] }, /^must be a string$/);
    refused({ flag: ["true", 1, "", {}] }, /^must be true or false$/);
    refused({ tags: ["a", {}, 1], children: [{}], nums: [1] }, /^must be an array$/);
    refused({ child: [1, "x", []], labels: [1, []], meta: [[], "x"] }, /^must be an object$/);
  });

  test("an integer that is out of range, not whole or not decimal", () => {
    refused(
      { i32: [2147483648, -2147483649, 1.5, "0x10", "", " 1", "01", "1.5", true, "NaN"] },
      /^must be an integer from -2147483648 to 2147483647$/,
    );
    refused({ u32: [-1, 4294967296, "-1"] }, /^must be an integer from 0 to 4294967295$/);
    refused({ i64: ["9223372036854775808", "1e2", "0".repeat(99)], u64: ["-1", "18446744073709551616"] }, /^must be an integer from /);
  });

  test("a 64-bit integer that JSON numbers cannot hold", () => {
    refused({ i64: [2 ** 53, -(2 ** 53)], u64: [2 ** 60] }, /^must be a string where it is beyond 2\^53/);
  });

  test("a number out of the range of its float", () => {
    refused({ f64: [JSON.parse("1e999"), "1e999", "0x10", "", "infinity", {}] }, /^must be a number$/);
    refused({ f32: [1e300, "1e300", "-1e39"] }, /^must be a number within the range of a float$/);
    refused({ val: [JSON.parse("-1e999")] }, /^must be within the range of a double$/);
  });

  test("C-41 an enum name that is unknown or in other letters, and a number no int32 can be", () => {
    refused({ color: ["COLOR_PINK", "color_red", "1", "", 1.5, 2147483648, true, {}] }, /^must be one of COLOR_RED, /);
    assert.deepEqual(Object.keys(refusal(ListTasksRequestSchema, { status: "TASK_STATE_RUNNING" })), ["status"]);
  });

  test("what is no base64", () => {
    refused({ blob: ["!!", "a", "abcde", "ab=", "abc==", "=", "a b=", "ab\n=", 1], optBlob: ["?"] }, /^must be a base64 string$/);
  });

  test("what is no time, duration or field mask", () => {
    const days = ["2021-02-29T00:00:00Z", "2021-04-31T00:00:00Z", "2021-00-01T00:00:00Z", "2021-01-00T00:00:00Z", "2100-02-29T00:00:00Z"];
    const times = ["2021-01-01", "2021-01-01T24:00:00Z", "2021-01-01T00:00:60Z", "2021-01-01T00:00:00", "2021-01-01T00:00:00 01:30"];
    const years = ["0000-12-31T23:59:59Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "10000-01-01T00:00:00Z"];
    refused({ at: [...days, ...times, ...years, "null", "", 1, {}] }, /^must be an RFC 3339 time/);
    refused({ ttl: ["3", "3.1234567891s", "s", "1m", "315576000001s", "3s ", 3] }, /^must be seconds with the suffix s/);
    refused({ mask: ["a_b", "a,,b", "a b", ["a"]] }, /^must be field paths in lowerCamelCase/);
  });

  test("half a surrogate pair, in strings, keys and free JSON", () => {
    refused({ name: ["\ud800"], val: ["\udc00x"] }, /^must be well-formed Unicode/);
    refused({ labels: [{ "\ud800": "x" }], meta: [{ "\ud800": "x" }] }, /^has a key that is wrong: it must be well-formed Unicode/);
  });

  test("null among the items of a list or the values of a map", () => {
    assert.deepEqual(refusal(ProbeSchema, { tags: ["a", null], children: [null], labels: { a: null }, colors: [null] }), {
      "tags[1]": "must not be null",
      "children[0]": "must not be null",
      "labels.a": "must not be null",
      "colors[0]": "must not be null",
    });
  });

  test("R-177 PR-08 two members of one oneof, null included where it is a value", () => {
    assert.deepEqual(refusal(ProbeSchema, { pickText: "a", pickNum: 1 }), { pickNum: "cannot be given together with pickText" });
    const part = { url: "https://example.org/", data: null };
    assert.deepEqual(refusal(SendMessageRequestSchema, { message: { parts: [part] } }), {
      "message.parts[0].data": "cannot be given together with url",
    });
  });

  test("one field under both its names", () => {
    assert.deepEqual(refusal(ProbeSchema, { displayName: "a", display_name: "a" }), {
      displayName: "is given twice, as displayName and display_name",
    });
    assert.deepEqual(Object.keys(refusal(ProbeSchema, { odd_name: null, ODD: "a" })), ["ODD"]);
  });

  test("all violations at once, each under its full JSON path", () => {
    const json = {
      message: { message_id: 1, role: "user", parts: [{ text: "fine" }, { text: 5 }, { raw: "!", metadata: [] }] },
      configuration: { historyLength: "ten" },
    };
    const found = refusal(SendMessageRequestSchema, json);
    const fields = ["messageId", "role", "parts[1].text", "parts[2].raw", "parts[2].metadata"].map((field) => `message.${field}`);
    assert.deepEqual(Object.keys(found), [...fields, "configuration.historyLength"]);
  });

  test("keys that are no plain names are quoted in the path", () => {
    assert.deepEqual(Object.keys(refusal(ProbeSchema, { labels: { "a b.c": 1, d: 2 } })), ['labels["a b.c"]', "labels.d"]);
  });

  test("a path is cut where keys are long, and stays well-formed", () => {
    const long = "😀".repeat(50_000);
    const [field = ""] = Object.keys(refusal(ProbeSchema, { meta: { [long]: { [long]: { [long]: { [long]: "\ud800" } } } } }));
    assert.ok(field.startsWith('meta["😀') && field.length <= 200 && field.isWellFormed(), field);
    assert.throws(
      () => parseJsonInput(ProbeSchema, { labels: { [long]: 1 } }),
      (error: Error) => error.message.length < 200,
    );
  });

  test("a google.protobuf.Any", () => {
    assert.deepEqual(Object.keys(refusal(StatusSchema, { details: [{ "@type": "type.googleapis.com/google.rpc.Status" }] })), [
      "details[0]",
    ]);
  });

  test("a root that is no object, under the path it was given", () => {
    for (const root of [null, [], "x", 1]) assert.deepEqual(refusal(ProbeSchema, root), { "": "must be an object" });
    assert.deepEqual(refusal(ProbeSchema, { i32: "x" }, "params"), { "params.i32": "must be an integer from -2147483648 to 2147483647" });
  });

  test("a flood of violations is counted to a hundred and no further", () => {
    const json = { tags: Array.from({ length: 1000 }, () => 1) };
    assert.throws(() => parseJsonInput(ProbeSchema, json), /tags\[0\]: must be a string \(and 99 more\)/);
  });

  test("an error says what the violations say", () => {
    assert.equal(invalidFields([{ field: "", description: "must be an object" }]).rawMessage, "the request must be an object");
    assert.equal(invalidFields([{ field: "a", description: "is wrong" }]).rawMessage, "a: is wrong");
  });
});

suite("nesting", () => {
  const shapes: Record<string, [json: (levels: number) => JsonValue, perLevel: number, around: number]> = {
    messages: [(levels) => ({ child: nested(levels, (inner) => ({ inner: inner === 1 ? {} : inner })) }), 1, 2],
    objects: [(levels) => ({ meta: { x: nested(levels, (inner) => ({ a: inner })) } }), 2, 3],
    arrays: [(levels) => ({ val: nested(levels, (inner) => [inner]) }), 2, 2],
  };
  for (const [name, [json, perLevel, around]] of Object.entries(shapes)) {
    test(`${name} are refused beyond the depth that binary is refused at, and no sooner`, () => {
      for (const limit of [10, 11, REQUEST_BOUNDS.depth]) {
        const most = Math.floor((limit - around) / perLevel);
        const message = parseJsonInput(ProbeSchema, json(most), "", { maxDepth: limit });
        assert.ok(equals(ProbeSchema, fromBinary(ProbeSchema, toBinary(ProbeSchema, message), { recursionLimit: limit }), message));
        const found = refusal(ProbeSchema, json(most + 1), "", { maxDepth: limit });
        assert.match(Object.values(found)[0] ?? "", /^is nested too deep: more than \d+ levels$/);
      }
    });
  }

  test("R-370 JSON a million levels deep is refused, not followed", () => {
    const deep = JSON.parse(`{"val":${"[".repeat(1_000_000)}${"]".repeat(1_000_000)}}`) as JsonValue;
    assert.equal(Object.keys(refusal(ProbeSchema, deep)).length, 1);
  });

  test("what is taken at the default depth can be wrapped in a task and a frame", () => {
    const part = { data: nested(Math.floor((REQUEST_BOUNDS.depth - 4) / 2), (inner) => [inner]) };
    const { message } = parseJsonInput(SendMessageRequestSchema, { message: { parts: [part] } });
    const frame = create(SendMessageResponseSchema, { payload: { case: "task", value: { history: message ? [message] : [] } } });
    assert.ok(fromBinary(SendMessageResponseSchema, toBinary(SendMessageResponseSchema, frame)));
  });
});
