import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { clone, type DescField, equals, type JsonObject, type Message, toJson } from "@bufbuild/protobuf";
import { reflect, type ReflectMessage } from "@bufbuild/protobuf/reflect";
import * as fc from "fast-check";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { buildRoutes, type Route, type RouteMatch, type Routes } from "../../src/bindings/rest/routes.ts";
import { transcode } from "../../src/bindings/rest/transcoder.ts";
import { type Probe, ProbeSchema } from "../gen/probe_pb.ts";
import { arbitraryMessage } from "./message-arbitrary.ts";
import { httpRule, ruleService } from "./rule-service.ts";

function matched(routes: Routes, method: string, path: string): RouteMatch {
  const match = routes.match(method, path);
  assert.ok(match.kind === "route", `${method} ${path}: ${match.kind}`);
  return match;
}

/** The parameters of a query that says what the JSON says. */
function parameters(json: JsonObject, prefix = ""): string[] {
  return Object.entries(json).flatMap(([name, value]) => {
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return parameters(value, `${prefix}${name}.`);
    return [value].flat().map((one) => `${prefix}${name}=${encodeURIComponent(one as string)}`);
  });
}

/** The path of a route for a message, and the message without what the path holds. */
function pathOf(route: Route, message: Message): { path: string; rest: Message } {
  const rest = clone(route.method.input, message);
  let path = route.binding.template;
  for (const { fields, fieldPath } of route.variables) {
    const [field] = fields;
    assert.ok(field?.fieldKind === "scalar" && fields.length === 1);
    path = path.replace(
      new RegExp(`\\{${fieldPath.join(".")}[^}]*\\}`),
      encodeURIComponent(String(reflect(route.method.input, message).get(field))),
    );
    reflect(route.method.input, rest).clear(field);
  }
  return { path, rest };
}

/** Gives every field of the path a text. */
function fillPath(route: Route, message: Message, texts: readonly string[]): void {
  for (const [index, { fields }] of route.variables.entries())
    reflect(route.method.input, message).set(fields[0] as DescField, texts[index]);
}

const segment = fc.string({ unit: "binary", minLength: 1, maxLength: 6 });

suite("what a client puts into path, query and body comes out as the same message", () => {
  const a2a = buildRoutes(A2AService);
  for (const route of a2a.all) {
    const { input, name } = route.method;
    test(`${name} at ${route.binding.template}`, () => {
      fc.assert(
        fc.property(arbitraryMessage(input), fc.tuple(segment, segment, segment), (message, texts) => {
          fillPath(route, message, texts);
          const { path, rest } = pathOf(route, message);
          const json = toJson(input, rest) as JsonObject;
          const query = route.body === "none" ? parameters(json).join("&") : "";
          const match = matched(a2a, route.binding.method, path);
          assert.equal(match.route.binding.template, route.binding.template);
          for (const onConflict of ["path-wins", "refuse"] as const) {
            assert.ok(equals(input, transcode(match, query, JSON.stringify(json), { onConflict }), message));
          }
        }),
        { numRuns: 30 },
      );
    });
  }

  test("every kind of parameter", () => {
    const rule = { rule: httpRule("GET", "/v1/q"), input: ProbeSchema, output: ProbeSchema };
    const match = matched(buildRoutes(ruleService(rule)), "GET", "/v1/q");
    const unfit = new Set(["children", "labels", "meta", "val"]);
    fc.assert(
      fc.property(arbitraryMessage(ProbeSchema), (message) => {
        for (const field of ProbeSchema.fields) if (unfit.has(field.name)) reflect(ProbeSchema, message).clear(field);
        dropEmpty(reflect(ProbeSchema, message));
        const query = parameters(toJson(ProbeSchema, message) as JsonObject).join("&");
        assert.ok(equals(ProbeSchema, transcode(match, query, undefined) as Probe, message));
        const protoNames = parameters(toJson(ProbeSchema, message, { useProtoFieldName: true, enumAsInteger: true }) as JsonObject).join(
          "&",
        );
        assert.ok(equals(ProbeSchema, transcode(match, protoNames, undefined) as Probe, message));
      }),
    );
  });
});

/** A message in a query is there only by its fields. */
function dropEmpty(message: ReflectMessage): void {
  for (const field of message.fields) {
    if (field.fieldKind !== "message" || !message.isSet(field) || field.message.typeName.startsWith("google.")) continue;
    const child = message.get(field);
    dropEmpty(child);
    if (!child.fields.some((inner) => child.isSet(inner))) message.clear(field);
  }
}
