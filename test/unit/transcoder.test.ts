import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create, type DescMessage, type JsonValue, type Message, toJson } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import * as fc from "fast-check";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { buildRoutes, type RouteMatch, type Routes } from "../../src/bindings/rest/routes.ts";
import { encodeResponse, transcode, type TranscodeOptions } from "../../src/bindings/rest/transcoder.ts";
import { wireError } from "../../src/rpc/errors.ts";
import { HttpBodySchema } from "../gen/google/api/httpbody_pb.ts";
import { type Probe, ProbeSchema, ReplySchema } from "../gen/probe_pb.ts";
import { httpRule, ruleService } from "./rule-service.ts";

type Rule = [method: string, template: string, body?: string, responseBody?: string];

function probe(...rules: readonly Rule[]): Routes {
  return buildRoutes(ruleService(...rules.map((rule) => ({ rule: httpRule(...rule), input: ProbeSchema, output: ReplySchema }))));
}

function matched(routes: Routes, method: string, path: string): RouteMatch {
  const match = routes.match(method, path);
  assert.ok(match.kind === "route", `${method} ${path}: ${match.kind}`);
  return match;
}

/** The ProtoJSON of what a request binds to. */
function bound([method, template, body]: Rule, target: string, content?: string | Uint8Array, options?: TranscodeOptions): JsonValue {
  const [path = "", query = ""] = target.split("?");
  return toJson(ProbeSchema, transcode(matched(probe([method, template, body ?? ""]), method, path), query, content, options) as Probe);
}

function refusal(run: () => unknown): { reason: string; fields: string[] } {
  let thrown: unknown;
  try {
    run();
  } catch (error) {
    thrown = error;
  }
  assert.ok(thrown instanceof ConnectError, "was accepted");
  const fields = thrown.findDetails(BadRequestSchema).flatMap((bad) => bad.fieldViolations.map(({ field }) => field));
  return { reason: wireError(thrown).reason, fields };
}

suite("parameters", () => {
  const rule: Rule = ["GET", "/v1/q"];

  test("R-293 C-55 a list is repeated or separated by commas, unless commas may be part of its values", () => {
    assert.deepEqual(bound(rule, "/v1/q?nums=1,2&nums=3&colors=COLOR_RED,2"), { nums: [1, 2, 3], colors: ["COLOR_RED", "COLOR_BLUE"] });
    assert.deepEqual(bound(rule, "/v1/q?tags=a,b&times=2021-01-01T00:00:00Z,2022-01-01T00:00:00Z"), {
      tags: ["a,b"],
      times: ["2021-01-01T00:00:00Z", "2022-01-01T00:00:00Z"],
    });
    assert.deepEqual(refusal(() => bound(rule, "/v1/q?nums=1,,2")).fields, ["nums[1]"]);
  });

  test("names that lead nowhere are ignored, whatever their values", () => {
    assert.deepEqual(bound(rule, "/v1/q?zzz=%FF&%FF=1&=x&&at.seconds=5&name.x.y=1&child.nope.id=1&tags.x=1&__proto__.a=1&i32=1"), {
      i32: 1,
    });
  });

  test("what leads to a map, a list of messages or free JSON is refused", () => {
    const query = "labels=x&labels.a=x&children.id=1&meta.a=1&val.stringValue=x&child=x";
    assert.deepEqual(
      refusal(() => bound(rule, `/v1/q?${query}`)),
      {
        reason: "INVALID_ARGUMENT",
        fields: ["labels", "labels", "children", "meta", "val", "child"],
      },
    );
  });

  test("one field under both its names is given twice", () => {
    assert.deepEqual(refusal(() => bound(rule, "/v1/q?displayName=a&display_name=a")).fields, ["displayName"]);
  });

  test("violations of several parameters come together, under their JSON paths", () => {
    assert.deepEqual(refusal(() => bound(rule, "/v1/q?i32=x&child.inner.color=RED&flag=yes&opt_i64=1.5&pick_num=")).fields, [
      "i32",
      "child.inner.color",
      "flag",
      "optI64",
      "pickNum",
    ]);
  });

  test("a path value that does not fit its field is an invalid argument, not another path", () => {
    const path: Rule = ["GET", "/v1/{child.size}/{color}"];
    assert.deepEqual(refusal(() => bound(path, "/v1/x/RED")).fields, ["child.size", "color"]);
    assert.deepEqual(refusal(() => bound(path, "/v1/%FF/0")).fields, ["child.size"]);
  });
});

suite("bodies", () => {
  test("path, query and one field as the body together", () => {
    const route: Rule = ["PATCH", "/v1/{name}/{child.inner.id=a/**}", "child"];
    assert.deepEqual(bound(route, "/v1/n/a/x%2Fy/z?i32=4&child.size=9&at=2021-01-01T00:00:00Z", '{"id":"k","inner":{"size":2}}'), {
      name: "n",
      i32: 4,
      at: "2021-01-01T00:00:00Z",
      child: { id: "k", inner: { id: "a/x%2Fy/z", size: 2 } },
    });
  });

  const rule: Rule = ["POST", "/v1/{name}:do", "*"];

  test("C-54 none, blank and null are the empty object", () => {
    for (const content of [undefined, "", " \r\n\t", "null", " null ", "{}", new Uint8Array(0), Buffer.from("{}")]) {
      assert.deepEqual(bound(rule, "/v1/a:do", content), { name: "a" });
    }
    assert.deepEqual(bound(["POST", "/v1/x", "child"], "/v1/x", ""), {});
    assert.deepEqual(bound(["POST", "/v1/x", "child"], "/v1/x", "null"), {});
    assert.deepEqual(bound(["POST", "/v1/x", "val"], "/v1/x", "null"), { val: null });
  });

  test("bytes are UTF-8, with or without a mark", () => {
    assert.deepEqual(bound(rule, "/v1/a:do", Buffer.from('\ufeff{"displayName":"é"}')), { name: "a", displayName: "é" });
    assert.equal(refusal(() => bound(rule, "/v1/a:do", Buffer.from([0x22, 0xff, 0x22]))).reason, "PARSE_ERROR");
  });

  test("what is not JSON is a parse error, what is no object an invalid argument", () => {
    for (const content of ["{", "{'a':1}", "undefined", "NaN"])
      assert.equal(refusal(() => bound(rule, "/v1/a:do", content)).reason, "PARSE_ERROR");
    for (const content of ["[]", "1", '"x"', "false"]) {
      assert.deepEqual(
        refusal(() => bound(rule, "/v1/a:do", content)),
        { reason: "INVALID_ARGUMENT", fields: [""] },
      );
    }
    assert.deepEqual(refusal(() => bound(["POST", "/v1/x", "child"], "/v1/x", '{"size":"x"}')).fields, ["child.size"]);
  });

  test("nothing but INVALID_ARGUMENT and PARSE_ERROR is thrown for any request whatever", () => {
    const routes = probe(["GET", "/v1/{name}/{i32}"], ["POST", "/v1/{child.id=**}", "child"], ["PUT", "/v1/{name}", "*"]);
    const piece = fc.constantFrom(
      "/",
      "%",
      "%2F",
      "%FF",
      "a",
      "1",
      ":",
      "&",
      "=",
      "name",
      "child",
      ".",
      "id",
      "i32",
      "tags",
      "+",
      "{",
      "}",
      '"',
      "null",
    );
    const text = fc.array(piece, { maxLength: 10 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(fc.constantFrom("GET", "POST", "PUT"), text, text, text, fc.boolean(), (method, path, query, body, refuse) => {
        const match = routes.match(method, `/v1/${path}`);
        if (match.kind !== "route") return;
        try {
          transcode(match, query, body, { onConflict: refuse ? "refuse" : "path-wins" });
        } catch (error) {
          assert.match(wireError(error).reason, /^(?:INVALID_ARGUMENT|PARSE_ERROR)$/);
        }
      }),
      { numRuns: 5000 },
    );
  });
});

suite("C-53 C-54 a value in the path and another one elsewhere", () => {
  const whole: Rule = ["POST", "/v1/{name}/{child.size}", "*"];
  const none: Rule = ["GET", "/v1/{name}/{child.size}"];
  const refuse = { onConflict: "refuse" } as const;

  test("the path wins unless told to refuse, and the rest is kept", () => {
    assert.deepEqual(bound(whole, "/v1/a/1?name=q", '{"name":"b","child":{"size":2,"id":"k"}}'), {
      name: "a",
      child: { size: 1, id: "k" },
    });
    assert.deepEqual(bound(none, "/v1/a/1?name=b&name=c&child.size=x&child.id=k"), { name: "a", child: { size: 1, id: "k" } });
  });

  test("the same value, and one that counts as unset, are no conflict", () => {
    const body = '{"name":"a","child":{"size":"1"}}';
    assert.deepEqual(bound(whole, "/v1/a/1?name=a", body, refuse), { name: "a", child: { size: 1 } });
    assert.deepEqual(bound(whole, "/v1/a/1", '{"name":"","child":null}', refuse), { name: "a", child: { size: 1 } });
    assert.deepEqual(bound(none, "/v1/a/1?name=a&child.size=1&child.id=k", undefined, refuse), { name: "a", child: { size: 1, id: "k" } });
  });

  test("a differing value is refused by the field's name, in the body and in the query", () => {
    assert.deepEqual(refusal(() => bound(whole, "/v1/a/1", '{"name":"b","child":{"size":2}}', refuse)).fields, ["name", "child.size"]);
    assert.deepEqual(refusal(() => bound(whole, "/v1/a/1?name=b", "{}", refuse)).fields, ["name"]);
    assert.deepEqual(refusal(() => bound(none, "/v1/a/1?child.size=2", undefined, refuse)).fields, ["child.size"]);
    assert.deepEqual(refusal(() => bound(["PATCH", "/v1/{child.id}", "child"], "/v1/a", '{"id":"b"}', refuse)).fields, ["child.id"]);
  });

  test("another query of a request that is all body stays ignored", () => {
    assert.deepEqual(bound(whole, "/v1/a/1?display_name=x&i32=bad", "{}", refuse), { name: "a", child: { size: 1 } });
  });

  test("another member of the path field's oneof is a conflict", () => {
    const oneof: Rule = ["POST", "/v1/{pick_text}", "*"];
    assert.deepEqual(bound(oneof, "/v1/a", '{"pickNum":1}'), { pickText: "a" });
    assert.deepEqual(refusal(() => bound(oneof, "/v1/a", '{"pickNum":1}', refuse)).fields, ["pickText"]);
  });
});

function encoded(responseBody: string, output: DescMessage, message: Message, encode?: Parameters<typeof encodeResponse>[2]): string {
  const routes = buildRoutes(ruleService({ rule: httpRule("GET", "/x", "", responseBody), input: ProbeSchema, output }));
  const [route] = routes.all;
  assert.ok(route);
  return Buffer.from(encodeResponse(route, message, encode).body as string).toString();
}

suite("responses", () => {
  test("a field that is the body is there when unset", () => {
    const fields = {
      name: '""',
      i32: "0",
      i64: '"0"',
      flag: "false",
      color: '"COLOR_UNSPECIFIED"',
      tags: "[]",
      labels: "{}",
      child: "null",
      maybe: "null",
    };
    for (const [field, body] of Object.entries(fields)) assert.equal(encoded(field, ProbeSchema, create(ProbeSchema)), body, field);
  });

  test("an HttpBody is answered as its bytes and its type", () => {
    const body = create(HttpBodySchema, { contentType: "image/png", data: Uint8Array.of(1, 2) });
    const [route] = buildRoutes(ruleService({ rule: httpRule("GET", "/x"), input: ProbeSchema, output: HttpBodySchema })).all;
    assert.ok(route);
    assert.deepEqual(encodeResponse(route, body), { contentType: "image/png", body: Uint8Array.of(1, 2) });
  });

  test("the JSON may be written by the caller", () => {
    assert.equal(
      encoded("", ReplySchema, create(ReplySchema), () => ({ own: 1 })),
      '{"own":1}',
    );
  });
});
