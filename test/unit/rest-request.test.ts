import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create, type DescField, equals, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import * as fc from "fast-check";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { encodeRequest } from "../../src/bindings/rest/request.ts";
import { buildRoutes, type Route, withPostTwins } from "../../src/bindings/rest/routes.ts";
import { transcode } from "../../src/bindings/rest/transcoder.ts";
import { type Probe, ProbeSchema } from "../gen/probe_pb.ts";
import { arbitraryMessage } from "./message-arbitrary.ts";
import { httpRule, ruleService } from "./rule-service.ts";

const text = fc.string({ unit: "binary", minLength: 1, maxLength: 6 });

/** What the transcoder makes of what the encoder made. */
function roundTrip(routes: ReturnType<typeof buildRoutes>, route: Route, message: Message): Message {
  const { method, target, body } = encodeRequest(route, message);
  const [path = "", query = ""] = target.split("?");
  const match = routes.match(method, path);
  assert.ok(match.kind === "route" && match.route === route, `${method} ${target}: ${match.kind}`);
  return transcode(match, query, body, { onConflict: "refuse" });
}

/** The only route of a service of one method. */
function probeRoute(...rule: Parameters<typeof httpRule>): { routes: ReturnType<typeof buildRoutes>; route: Route } {
  const routes = buildRoutes(ruleService({ rule: httpRule(...rule), input: ProbeSchema, output: ProbeSchema }));
  return { routes, route: routes.all[0] ?? assert.fail("no route") };
}

suite("a request that is encoded is what the transcoder reads", () => {
  const routes = buildRoutes(A2AService, { bindings: withPostTwins });
  for (const route of routes.all) {
    const { method, binding, variables } = route;
    test(`${method.name} at ${binding.method} ${binding.template}`, () => {
      fc.assert(
        fc.property(arbitraryMessage(method.input), fc.tuple(text, text, text), (message, texts) => {
          for (const [at, { fields }] of variables.entries()) reflect(method.input, message).set(fields[0] as DescField, texts[at]);
          assert.ok(equals(method.input, roundTrip(routes, route, message), message));
        }),
        { numRuns: 50 },
      );
    });
  }

  test("with every kind of parameter", () => {
    const { routes: own, route } = probeRoute("GET", "/v1/q");
    const unfit = new Set(["labels", "meta", "val"]);
    fc.assert(
      fc.property(arbitraryMessage(ProbeSchema), (message) => {
        for (const field of ProbeSchema.fields)
          if (unfit.has(field.name) || isOwnMessage(field)) reflect(ProbeSchema, message).clear(field);
        assert.ok(equals(ProbeSchema, roundTrip(own, route, message) as Probe, message));
      }),
    );
  });
});

/** A message in a query is there by its fields alone: an empty one is lost. */
function isOwnMessage(field: DescField): boolean {
  return field.message !== undefined && !field.message.typeName.startsWith("google.");
}

/** What a probe is encoded as: method, target, body. */
function encoded(rule: Parameters<typeof httpRule>, init: MessageInitShape<typeof ProbeSchema>): (string | undefined)[] {
  const { method, target, body } = encodeRequest(probeRoute(...rule).route, create(ProbeSchema, init));
  return [method, target, body];
}

suite("a request is encoded as its rule says", () => {
  for (const [name, rule, init, expected] of [
    ["a variable is one segment, whatever it holds", ["GET", "/v1/{name}"], { name: "a/b:c d" }, ["GET", "/v1/a%2Fb%3Ac%20d", undefined]],
    [
      "one of several segments keeps the slashes between them",
      ["GET", "/v1/{name=a/*/**}"],
      { name: "a/b c/d/e" },
      ["GET", "/v1/a/b%20c/d/e", undefined],
    ],
    ["segments and a verb may follow it", ["GET", "/v1/{name}/x:go"], { name: "n" }, ["GET", "/v1/n/x:go", undefined]],
    ["segments of dots alone are no steps", ["GET", "/v1/{name}"], { name: ".." }, ["GET", "/v1/%2E%2E", undefined]],
    ["a variable may lie deeper", ["GET", "/v1/{child.id}"], { child: { id: "c", size: 2 } }, ["GET", "/v1/c?child.size=2", undefined]],
    [
      "names of the query are those of JSON",
      ["GET", "/q"],
      { displayName: "d&=", oddName: "o" },
      ["GET", "/q?displayName=d%26%3D&ODD=o", undefined],
    ],
    ["lists repeat their name", ["GET", "/q"], { nums: [1, 2], tags: ["a,b"] }, ["GET", "/q?tags=a%2Cb&nums=1&nums=2", undefined]],
    ["fields of messages have dots", ["GET", "/q"], { child: { inner: { id: "i" } } }, ["GET", "/q?child.inner.id=i", undefined]],
    ["the whole body is all but the path", ["PUT", "/v1/{name}", "*"], { name: "n", flag: true }, ["PUT", "/v1/n", '{"flag":true}']],
    ["a field may be the body", ["POST", "/v1/x", "child"], { child: { id: "c" }, flag: true }, ["POST", "/v1/x?flag=true", '{"id":"c"}']],
    ["and be empty", ["POST", "/v1/x", "child"], {}, ["POST", "/v1/x", "{}"]],
  ] as const satisfies readonly (readonly [string, Parameters<typeof httpRule>, MessageInitShape<typeof ProbeSchema>, unknown])[]) {
    test(name, () => assert.deepEqual(encoded([...rule] as Parameters<typeof httpRule>, init), expected));
  }

  for (const [name, rule, init, expected] of [
    ["a field of the path that is not set", ["GET", "/v1/{name}"], {}, /name: is required: it is part of the path/],
    ["a map has no place in a query", ["GET", "/q"], { labels: { a: "b" } }, /labels: cannot be given as a parameter/],
    ["a list of messages neither", ["GET", "/q"], { children: [{ id: "c" }] }, /children: cannot be given as a parameter/],
    ["nor what is free JSON", ["GET", "/q"], { meta: { a: 1 } }, /meta: cannot be given as a parameter/],
    ["a wildcard that binds nothing", ["GET", "/v1/*/{name}"], { name: "n" }, /cannot be filled in/],
  ] as const satisfies readonly (readonly [string, Parameters<typeof httpRule>, MessageInitShape<typeof ProbeSchema>, RegExp])[]) {
    test(name, () => assert.throws(() => encoded([...rule] as Parameters<typeof httpRule>, init), expected));
  }
});
