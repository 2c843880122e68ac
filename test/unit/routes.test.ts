import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { suite, test } from "node:test";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import * as fc from "fast-check";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { parsePathTemplate } from "../../src/bindings/rest/path-template.ts";
import { buildRoutes, type MatchResult, type Route } from "../../src/bindings/rest/routes.ts";
import { ProbeSchema } from "../gen/probe_pb.ts";
import { httpRule, ruleService } from "./rule-service.ts";

interface HttpFacts {
  readonly method: string;
  readonly path: string;
  readonly body: string | null;
  readonly additionalBinding: boolean;
  readonly pathFields: readonly string[];
  readonly customVerb: string | null;
}
interface Facts {
  readonly services: readonly { readonly methods: readonly { readonly name: string; readonly http: readonly HttpFacts[] }[] }[];
}
const facts = JSON.parse(readFileSync(new URL("../vectors/schema.json", import.meta.url), "utf8")) as Facts;

/** What a match says, in one line. */
function said(result: MatchResult): string {
  if (result.kind === "method-not-allowed") return `405 ${result.allow.join(", ")}`;
  if (result.kind === "path-not-found") return "404";
  return [result.route.method.name, ...result.captures.map((segments) => segments.join("/"))].join(" ");
}

function probeRoutes(
  ...rules: readonly [method: string, template: string, body?: string, responseBody?: string][]
): ReturnType<typeof buildRoutes> {
  return buildRoutes(ruleService(...rules.map((rule) => ({ rule: httpRule(...rule), input: ProbeSchema, output: ProbeSchema }))));
}

function routeFacts(route: Route): object {
  return {
    name: route.method.name,
    method: route.binding.method,
    path: route.binding.template,
    body: route.body === "whole" ? "*" : null,
    pathFields: route.variables.map(({ fields }) => fields[0]?.jsonName),
    customVerb: route.path.verb || null,
  };
}

suite("path templates", () => {
  const wrong: Record<string, string> = {
    "v1/x": `column 1: expected "/", found "v"`,
    "": `column 1: expected "/", found the end`,
    "/": `column 2: expected a literal, "*", "**" or "{", found the end`,
    "/v1//x": `column 5: expected a literal, "*", "**" or "{", found "/"`,
    "/v1/{name": `column 10: expected ".", "=" or "}", found the end`,
    "/v1/{}": `column 6: expected an identifier, found "}"`,
    "/v1/{a-b}": `column 7: expected ".", "=" or "}", found "-"`,
    "/v1/{a=b": `column 9: expected "/" or "}", found the end`,
    "/v1/{a.}": `column 8: expected an identifier, found "}"`,
    "/v1/{a={b}}": `column 8: expected a literal, "*" or "**", found "{"`,
    "/v1/{a=**/b}": `column 10: expected nothing but a verb after **, found "/"`,
    "/v1/**/x": `column 7: expected nothing but a verb after **, found "/"`,
    "/{a}/{a}": `column 7: expected a field that is not bound yet, found "a"`,
    "/v1/a*": `column 6: expected "/", ":" or the end, found "*"`,
    "/v1/a b": `column 6: expected "/", ":" or the end, found " "`,
    "/v1/a:b/c": `column 8: expected the end, found "/"`,
    "/v1/a:": `column 7: expected a verb, found the end`,
    "/v1/a%zz": `column 7: expected two hexadecimal digits after %, found "z"`,
    "/v1/%FF": `column 5: expected escapes that are UTF-8, found "%"`,
  };
  for (const [template, message] of Object.entries(wrong)) {
    test(`the error of "${template}" says where, what was expected and what was found`, () => {
      assert.throws(() => parsePathTemplate(template), {
        name: "SyntaxError",
        message: `path template ${template}: syntax error at ${message}`,
      });
    });
  }

  test("variables know their fields and the segments that they take", () => {
    assert.deepEqual(parsePathTemplate("/v1/{a.b=x/*}/{c}/{d=**}:go"), {
      segments: [{ kind: "literal", text: "v1" }, { kind: "literal", text: "x" }, { kind: "star" }, { kind: "star" }, { kind: "rest" }],
      variables: [
        { fieldPath: ["a", "b"], start: 1, end: 3, single: false },
        { fieldPath: ["c"], start: 3, end: 4, single: true },
        { fieldPath: ["d"], start: 4, end: undefined, single: false },
      ],
      verb: "go",
    });
  });

  test("any text is parsed or refused with a SyntaxError", () => {
    const piece = fc.constantFrom("/", "{", "}", "=", "*", "**", ":", ".", "%", "%41", "a", "b1", "_", " ", "é", "-");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        try {
          parsePathTemplate(pieces.join(""));
        } catch (error) {
          assert.ok(error instanceof SyntaxError);
        }
      }),
      { numRuns: 5000 },
    );
  });
});

suite("the choice of a route", () => {
  test("a path whose rules all have other methods tells which", () => {
    const routes = probeRoutes(["GET", "/v1/{name}"], ["DELETE", "/v1/{name}"], ["POST", "/v1/x:go"], ["POST", "/{name}/x"]);
    assert.equal(said(routes.match("PUT", "/v1/a")), "405 DELETE, GET");
    assert.equal(said(routes.match("PUT", "/v1/x")), "405 DELETE, GET, POST");
    assert.equal(said(routes.match("PUT", "/v1/x:go")), "405 POST");
    assert.equal(said(routes.match("PUT", "/v2")), "404");
  });

  test("a less specific rule is taken where the more specific one has another method", () => {
    const routes = probeRoutes(["POST", "/v1/x"], ["GET", "/v1/{name}"], ["POST", "/v1/{name}:go"]);
    assert.equal(said(routes.match("GET", "/v1/x")), "M1 x");
    assert.equal(said(routes.match("POST", "/v1/a:go")), "M2 a");
  });

  test("a verb that some rule has is never part of a variable, whatever the method", () => {
    const routes = probeRoutes(["GET", "/v1/{name}"], ["POST", "/v1/{name}:go"]);
    assert.equal(said(routes.match("GET", "/v1/a:go")), "405 POST");
    assert.equal(said(routes.match("GET", "/v1/a%3Ago")), "M0 a%3Ago");
    assert.equal(said(routes.match("GET", "/v1/a:stay")), "M0 a:stay");
  });

  test("a wrong turn at a literal is taken back", () => {
    const routes = probeRoutes(["GET", "/a/b/c"], ["GET", "/{name}/b/d"], ["GET", "/a/{name=**}"]);
    assert.equal(said(routes.match("GET", "/a/b/d")), "M2 b/d");
    assert.equal(said(routes.match("GET", "/x/b/d")), "M1 x");
    assert.equal(said(routes.match("GET", "/a/b/c")), "M0");
  });

  test("** takes no segment too, but never an empty one", () => {
    const routes = probeRoutes(["GET", "/v1/{name=**}"], ["GET", "/v1/{name=**}:stat"]);
    assert.equal(said(routes.match("GET", "/v1")), "M0 ");
    assert.equal(said(routes.match("GET", "/v1:stat")), "M1 ");
    assert.deepEqual(
      ["/v1/", "/v1/a//b", "/v1/a/", "/v1/:stat"].map((path) => said(routes.match("GET", path))),
      ["404", "404", "404", "M0 :stat"],
    );
  });

  test("literals and verbs are compared decoded", () => {
    const routes = probeRoutes(["GET", "/v%31/a%20b"], ["POST", "/v1/{name}:go"]);
    assert.equal(said(routes.match("GET", "/%761/a%20b")), "M0");
    assert.equal(said(routes.match("POST", "/v1/x:%67o")), "M1 x");
    assert.equal(said(routes.match("POST", "/v1/x%3Ago")), "404");
  });

  test("a custom method is taken, and * stands for any", () => {
    const routes = probeRoutes(["HEAD", "/a"], ["*", "/b"], ["GET", "/b"]);
    assert.deepEqual(
      [said(routes.match("HEAD", "/a")), said(routes.match("PURGE", "/b")), said(routes.match("GET", "/b"))],
      ["M0", "M1", "M2"],
    );
  });

  test("what is no path leads nowhere", () => {
    const routes = probeRoutes(["GET", "/{name}"]);
    for (const path of ["", "*", "x", "//", "/", "http://h/x"]) assert.equal(said(routes.match("GET", path)), "404");
  });
});

suite("a rule that is wrong stops the start", () => {
  const cases: Record<string, [rules: [string, string, string?, string?][], error: RegExp]> = {
    "a path that is taken": [
      [
        ["GET", "/v1/{name}"],
        ["GET", "/v1/{i32=*}"],
      ],
      /M1 at GET \/v1\/\{i32=\*\}: the path is taken by .*M0 at GET/,
    ],
    "a variable without a field": [[["GET", "/{nope}"]], /has no field nope/],
    "a variable by its JSON name": [[["GET", "/{displayName}"]], /has no field displayName/],
    "a list in the path": [[["GET", "/{tags}"]], /tags cannot be in a path/],
    "a message in the path": [[["GET", "/{child}"]], /child cannot be in a path/],
    "a free JSON value in the path": [[["GET", "/{meta}"]], /meta cannot be in a path/],
    "a path through a scalar": [[["GET", "/{name.x}"]], /name has no fields/],
    "a body without a field": [[["POST", "/x", "nope"]], /has no field nope/],
    "a response body without a field": [[["GET", "/x", "", "nope"]], /has no field nope/],
    "a template that is none": [[["GET", "/{"]], /syntax error at column 3/],
  };
  for (const [name, [rules, error]] of Object.entries(cases)) test(name, () => assert.throws(() => probeRoutes(...rules), error));
});

suite("the routes of A2A", () => {
  const routes = buildRoutes(A2AService);

  test("R-298 are those of the facts, with the same variables and verbs", () => {
    const expected = facts.services.flatMap(({ methods }) =>
      methods.flatMap(({ name, http }) =>
        http.map(({ method, path, body, pathFields, customVerb }) => ({ name, method, path, body, pathFields, customVerb })),
      ),
    );
    assert.deepEqual(routes.all.map(routeFacts), expected);
  });

  test("C-53 the un-prefixed one wins where a tenant could be meant", () => {
    assert.equal(said(routes.match("GET", "/tasks/tasks/pushNotificationConfigs")), "ListTaskPushNotificationConfigs tasks");
    assert.equal(said(routes.match("GET", "/tasks/tasks")), "GetTask tasks");
    assert.equal(said(routes.match("GET", "/tasks/x:subscribe")), "SubscribeToTask x");
  });

  test("C-56 PUT is refused with the methods that there are", () => {
    assert.equal(said(routes.match("PUT", "/tasks/t/pushNotificationConfigs")), "405 GET, POST");
    assert.equal(said(routes.match("PUT", "/acme/message:send")), "405 POST");
  });

  test("C-01 bindings can be added, left out, and put under a prefix", () => {
    const own = buildRoutes(A2AService, {
      prefix: "/a2a/v1",
      bindings: (method, declared) => {
        const base = declared.filter(({ template }) => !template.startsWith("/{tenant}/"));
        const isStream = method.methodKind === "server_streaming" && base.every((binding) => binding.method === "GET");
        return isStream ? [...base, ...base.map((binding) => ({ ...binding, method: "POST", body: "*" }))] : base;
      },
    });
    assert.equal(own.all.length, routes.all.length / 2 + 1);
    assert.equal(said(own.match("POST", "/a2a/v1/tasks/t:subscribe")), "SubscribeToTask t");
    assert.equal(said(own.match("GET", "/a2a/v1/tasks/t:subscribe")), "SubscribeToTask t");
    assert.equal(said(own.match("GET", "/a2a/v1/acme/tasks/t")), "404");
    assert.equal(said(own.match("GET", "/tasks/t")), "404");
  });
});

test("a method without a rule has no route", () => {
  assert.deepEqual(buildRoutes(ruleService({ rule: {}, input: EmptySchema, output: EmptySchema })).all, []);
});
