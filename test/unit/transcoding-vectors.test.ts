import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { suite, test } from "node:test";
import { createRegistry, type DescMessage, fromJson, type JsonObject, type JsonValue, type Message, toJson } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { file_lf_a2a_v1_a2a } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { parsePathTemplate } from "../../src/bindings/rest/path-template.ts";
import { buildRoutes, type MatchResult } from "../../src/bindings/rest/routes.ts";
import { encodeResponse, transcode } from "../../src/bindings/rest/transcoder.ts";
import { wireError } from "../../src/rpc/errors.ts";
import { HttpBodySchema } from "../gen/google/api/httpbody_pb.ts";
import { file_probe, ProbeSchema, ReplySchema } from "../gen/probe_pb.ts";
import { httpRule, ruleService } from "./rule-service.ts";

interface Vectors {
  readonly counts: Readonly<Record<"requests" | "routes" | "templates" | "responses", number>>;
  readonly requests: readonly {
    readonly id: string;
    readonly rule: { readonly method: string; readonly template: string; readonly body?: string };
    readonly request: string;
    readonly http: { readonly method: string; readonly target: string; readonly body?: string };
    readonly expect: {
      readonly message?: JsonObject;
      readonly noMatch?: number;
      readonly error?: { readonly http: number; readonly status: string };
    };
  }[];
  readonly routes: readonly {
    readonly id: string;
    readonly templates: readonly string[];
    readonly target: string;
    readonly chosen: string;
    readonly bound?: JsonObject;
  }[];
  readonly templates: readonly { readonly template: string; readonly valid: boolean | null; readonly note?: string }[];
  readonly responses: readonly {
    readonly id: string;
    readonly rule: { readonly responseBody?: string };
    readonly message: JsonObject;
    readonly body: string;
    readonly contentType?: string;
  }[];
}

const vectors = JSON.parse(readFileSync(new URL("../vectors/transcoding.json", import.meta.url), "utf8")) as Vectors;

function requestType(name: string): DescMessage {
  const found = [...file_probe.messages, ...file_lf_a2a_v1_a2a.messages].find((message) => message.name === name);
  assert.ok(found, name);
  return found;
}

const STATUS: Readonly<Record<MatchResult["kind"], number>> = { route: 200, "path-not-found": 404, "method-not-allowed": 405 };

/** What a request comes to where it is the only rule. */
function outcome({ rule, request, http }: Vectors["requests"][number]): Vectors["requests"][number]["expect"] {
  const input = requestType(request);
  const routes = buildRoutes(ruleService({ rule: httpRule(rule.method, rule.template, rule.body), input, output: EmptySchema }));
  const [path = "", query = ""] = http.target.split("?");
  const match = routes.match(http.method, path);
  if (match.kind !== "route") return { noMatch: STATUS[match.kind] };
  try {
    const message: Message = transcode(match, query, http.body);
    return { message: toJson(input, message) as JsonObject };
  } catch (error) {
    const { http: status, status: name } = wireError(error);
    return { error: { http: status, status: name } };
  }
}

test("the vectors are complete", () => {
  const { requests, routes, templates, responses } = vectors;
  const counts = { requests: requests.length, routes: routes.length, templates: templates.length, responses: responses.length };
  assert.deepEqual(counts, vectors.counts);
});

suite("a request is bound as its vector says", () => {
  for (const vector of vectors.requests) {
    test(vector.id, () => {
      const { message, noMatch, error } = vector.expect;
      const found = outcome(vector);
      // Compared as messages: the vectors write times in more than one form.
      const input = requestType(vector.request);
      const expected = message && (toJson(input, fromJson(input, message)) as JsonObject);
      assert.deepEqual(found, expected ? { message: expected } : noMatch === undefined ? { error } : { noMatch });
    });
  }
});

suite("a route is chosen as its vector says", () => {
  for (const { id, templates, target, chosen, bound } of vectors.routes) {
    for (const order of ["as given", "reversed"]) {
      test(`${id}, rules ${order}`, () => {
        const rules = order === "reversed" ? templates.toReversed() : templates;
        const input = templates.some((template) => /tenant|task_id|\{id/.test(template))
          ? requestType("GetTaskPushNotificationConfigRequest")
          : ProbeSchema;
        const service = ruleService(...rules.map((template) => ({ rule: httpRule("GET", template), input, output: EmptySchema })));
        const match = buildRoutes(service).match("GET", target);
        assert.ok(match.kind === "route");
        assert.equal(match.route.binding.template, chosen);
        if (bound !== undefined) assert.deepEqual(toJson(input, transcode(match, "", undefined), { useProtoFieldName: true }), bound);
      });
    }
  }
});

suite("a template is valid where its vector says so", () => {
  for (const { template, valid } of vectors.templates) {
    // Where the vectors leave the choice, http.proto's grammar decides, and it has none of them.
    test(`${template} is ${valid ? "valid" : "refused"}`, () => {
      if (valid) assert.ok(parsePathTemplate(template));
      else assert.throws(() => parsePathTemplate(template), { name: "SyntaxError", message: / at column \d+: expected .+, found .+$/ });
    });
  }
});

suite("a response is encoded as its vector says", () => {
  const registry = createRegistry(HttpBodySchema);
  for (const { id, rule, message, body, contentType } of vectors.responses) {
    test(id, () => {
      const { "@type": typeName, ...fields } = message;
      const output = (typeof typeName === "string" ? registry.getMessage(typeName) : undefined) ?? ReplySchema;
      const service = ruleService({ rule: httpRule("GET", "/v1/x", "", rule.responseBody), input: EmptySchema, output });
      const [route] = buildRoutes(service).all;
      assert.ok(route);
      const encoded = encodeResponse(route, fromJson(output, fields as JsonValue));
      assert.equal(Buffer.from(encoded.body as string).toString(), body);
      assert.equal(encoded.contentType ?? "application/json", contentType ?? "application/json");
    });
  }
});
