import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { suite, test } from "node:test";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { openBed, sharedBed } from "../bed.ts";
import type { HttpReply, HttpRequest } from "../callers/http.ts";
import { ScenarioAgent } from "../scenario-agent.ts";
import { type OpenApi, OpenApiBook, type Place } from "./openapi-book.ts";

const TARGET = "/openapi.json";

interface Rule {
  readonly method: string;
  readonly path: string;
  readonly additionalBinding: boolean;
}

const facts = JSON.parse(readFileSync(new URL("../../vectors/schema.json", import.meta.url), "utf8")) as {
  readonly services: readonly { readonly methods: readonly { readonly name: string; readonly http: readonly Rule[] }[] }[];
};

interface Row {
  readonly id: string;
  readonly rule: { readonly method: string; readonly template: string; readonly body?: string };
  readonly request: string;
  readonly expect: { readonly message?: JsonObject };
}

const vectors = JSON.parse(readFileSync(new URL("../../vectors/transcoding.json", import.meta.url), "utf8")) as {
  readonly requests: readonly Row[];
};

/** A path template as OpenAPI writes it. */
function written(template: string): string {
  return template.replace(
    /\{(\w+)(?:=\*)?\}/g,
    (_, name: string) => `{${name.replace(/_(\w)/g, (__, letter: string) => letter.toUpperCase())}}`,
  );
}

/** Verb and path of all rules of the schema, and C-01's POST for what is read as a stream. */
function rulesOf({ tenants }: { readonly tenants: boolean }): string[] {
  const rules = facts.services.flatMap(({ methods }) => methods.flatMap(({ http }) => http));
  const kept = rules.filter(({ additionalBinding }) => tenants || !additionalBinding);
  const twins = kept
    .filter(({ method, path }) => method === "GET" && path.endsWith(":subscribe"))
    .map(({ path }) => ({ method: "POST", path }));
  return [...kept, ...twins].map(({ method, path }) => `${method} ${written(path)}`).toSorted();
}

const namesOf = (places: readonly Place[]): string[] => places.map(({ method, path }) => `${method} ${path}`).toSorted();

/** What a linter with the recommended rules has to say. */
async function complaints(text: string): Promise<string[]> {
  const config = await createConfig({
    extends: ["recommended"],
    rules: {
      // A card does not tell of the agent's licence.
      "info-license": "off",
      // A2A's own: /{tenant}/tasks beside /tasks/{id}. Literal segments win (C-53), as OpenAPI says too.
      "no-ambiguous-paths": "off",
    },
  });
  const problems = await lintFromString({ source: text, config, absoluteRef: "openapi.json" });
  return problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer ?? ""}`);
}

/** A card with every kind of security scheme. */
const SECURED = {
  documentationUrl: "https://example.com/docs",
  provider: { organization: "Example", url: "https://example.com" },
  securitySchemes: {
    key: { scheme: { case: "apiKeySecurityScheme", value: { location: "header", name: "X-Key", description: "A key." } } },
    bearer: { scheme: { case: "httpAuthSecurityScheme", value: { scheme: "Bearer", bearerFormat: "JWT" } } },
    code: oauth("authorizationCode", {
      authorizationUrl: "https://a",
      tokenUrl: "https://t",
      refreshUrl: "https://r",
      scopes: { use: "Use it." },
    }),
    machine: oauth("clientCredentials", { tokenUrl: "https://t" }),
    implicit: oauth("implicit", { authorizationUrl: "https://a" }),
    password: oauth("password", { tokenUrl: "https://t" }),
    device: oauth("deviceCode", { deviceAuthorizationUrl: "https://d", tokenUrl: "https://t" }),
    oidc: { scheme: { case: "openIdConnectSecurityScheme", value: { openIdConnectUrl: "https://o/.well-known/openid-configuration" } } },
    mtls: { scheme: { case: "mtlsSecurityScheme", value: {} } },
    unknown: {},
  },
  securityRequirements: [
    { schemes: { bearer: { list: [] }, mtls: { list: [] } } },
    { schemes: { code: { list: ["use"] } } },
    ...["key", "machine", "implicit", "password", "device", "oidc"].map((name) => ({ schemes: { [name]: { list: [] } } })),
  ],
} as const;

function oauth(kind: string, value: object): object {
  return { scheme: { case: "oauth2SecurityScheme", value: { flows: { flow: { case: kind, value } } } } };
}

suite("the OpenAPI document", () => {
  const bed = sharedBed({ tokens: { t: "alice" } });
  const many = sharedBed({ tenants: ["acme"], assumeVersion: "1.0" });
  const get = (more: Partial<HttpRequest> = {}): Promise<HttpReply> => bed().rest.http.fetch({ method: "GET", target: TARGET, ...more });
  const book = (): Promise<OpenApiBook> => OpenApiBook.read(bed().rest.http);
  const bookOfTenants = (): Promise<OpenApiBook> => OpenApiBook.read(many().rest.http);

  test("is served to everybody like the card: to GET and HEAD, with its tag, and not again to who has it", async () => {
    const whole = await get();
    assert.deepEqual([whole.status, whole.headers.get("content-type")], [200, "application/json"]);
    assert.match(whole.headers.get("cache-control") ?? "", /^public, max-age=[1-9]\d*$/);
    const head = await get({ method: "HEAD" });
    assert.deepEqual([head.status, head.text, head.headers.get("content-length")], [200, "", whole.headers.get("content-length")]);
    const etag = whole.headers.get("etag") ?? "";
    assert.equal((await get({ headers: [["if-none-match", etag]] })).status, 304);
    assert.equal((await get({ method: "POST" })).status, 405);
  });

  test("is OpenAPI 3.1 without a fault, whatever the card says and with tenants or without", async () => {
    await using secured = await openBed({}, new ScenarioAgent({ card: SECURED as never }));
    for (const { rest } of [bed(), many(), secured]) {
      const { text } = await rest.http.fetch({ method: "GET", target: TARGET });
      assert.match((JSON.parse(text) as OpenApi).openapi, /^3\.1\./);
      assert.deepEqual(await complaints(text), []);
    }
  });

  test("C-01 has every HTTP rule of the schema and POST for what is read as a stream, and nothing else", async () => {
    assert.deepEqual(namesOf((await book()).places), rulesOf({ tenants: false }));
    assert.deepEqual(namesOf((await bookOfTenants()).places), rulesOf({ tenants: true }));
  });

  test("tells of no operation that is not served", async () => {
    for (const place of (await bookOfTenants()).places) {
      const target = place.path.replace("{tenant}", "acme").replace(/\{\w+\}/g, "none");
      const { status, text } = await many().rest.http.fetch({ method: place.method, target });
      assert.ok(status !== 405 && !text.includes("PATH_NOT_FOUND"), `${place.method} ${place.path}: ${text}`);
    }
  });

  test("places fields as the schema's HTTP rules do", async () => {
    const both = [
      [await book(), []],
      [await bookOfTenants(), ["tenant"]],
    ] as const;
    for (const [open, tenant] of both) {
      const queries = Object.fromEntries(
        open.places.map(({ operation }) => [
          operation.operationId,
          open
            .parametersOf(operation)
            .filter((parameter) => parameter.in === "query")
            .map(({ name }) => name),
        ]),
      );
      assert.deepEqual(queries["GetTask"], [...tenant, "historyLength"]);
      assert.deepEqual(queries["ListTasks"]?.toSorted(), [
        "contextId",
        "historyLength",
        "includeArtifacts",
        "pageSize",
        "pageToken",
        "status",
        "statusTimestampAfter",
        ...tenant,
      ]);
      assert.deepEqual(queries["ListTaskPushNotificationConfigs"]?.toSorted(), ["pageSize", "pageToken", ...tenant]);
      for (const name of ["SendMessage", "SendStreamingMessage", "CancelTask", "SubscribeToTaskByPost"])
        assert.deepEqual(queries[name], [], name);
      for (const name of ["SubscribeToTask", "GetTaskPushNotificationConfig", "GetExtendedAgentCard"])
        assert.deepEqual(queries[name], tenant, name);
    }
  });

  test("has a place, and a schema that takes it, for every field of A2A's transcoding rows", async () => {
    const open = await bookOfTenants();
    const rows = vectors.requests.filter(({ request, expect }) => rowOfA2A(request) && expect.message !== undefined);
    assert.ok(rows.length > 15);
    for (const { id, rule, expect } of rows) {
      const place = open.places.find(({ method, path }) => method === rule.method && path === written(rule.template)) ?? assert.fail(id);
      const parameters = open.parametersOf(place.operation);
      const rest: JsonObject = {};
      for (const [name, value] of Object.entries(expect.message as JsonObject)) {
        const parameter = parameters.find((one) => one.name === name);
        if (parameter === undefined) rest[name] = value;
        else open.conforms(parameter.schema, value, `${id}: ${name}`);
      }
      const properties = propertiesOf(open, place);
      for (const name of Object.keys(rest)) assert.ok(properties.includes(name), `${id}: ${name}`);
    }
  });

  test("says nothing of tenants where there are none", async () => {
    const open = await book();
    for (const place of open.places) {
      assert.ok(!place.path.includes("tenant"));
      const names = open.parametersOf(place.operation).map(({ name }) => name);
      for (const name of names.concat(propertiesOf(open, place))) assert.doesNotMatch(name, /tenant/i, place.path);
    }
    const tenants = await bookOfTenants();
    const send = tenants.document.paths["/message:send"]?.["post"] ?? assert.fail("no send");
    assert.ok(tenants.parametersOf(send).some(({ name }) => name === "a2a-tenant"));
  });

  test("asks for the version unless the server assumes one, and names the extensions of the card", async () => {
    for (const [open, required] of [
      [await book(), true],
      [await bookOfTenants(), false],
    ] as const) {
      for (const { operation } of open.places) {
        const parameters = open.parametersOf(operation);
        const version = parameters.find(({ name }) => name === "a2a-version");
        assert.deepEqual([version?.required, version?.schema["enum"]], [required, ["1.0"]]);
        const extensions = parameters.find(({ name }) => name === "a2a-extensions") as unknown as { description: string };
        assert.match(extensions.description, /urn:throughline:a2a:log:v1/);
        const resumes = parameters.some(({ name }) => name === "last-event-id");
        assert.equal(resumes, /Stream|Subscribe/.test(operation.operationId), operation.operationId);
      }
    }
  });

  test("carries the schema's comments, with names as JSON has them", async () => {
    const open = await book();
    const { schemas } = open.document.components as unknown as {
      schemas: Record<string, { description?: string; properties?: Record<string, JsonObject> }>;
    };
    for (const [name, { description, properties = {} }] of Object.entries(schemas)) {
      if (name.includes(".")) continue;
      assert.ok(description, name);
      if (name === "Error") continue;
      for (const [member, property] of Object.entries(properties)) assert.ok(property["description"], `${name}.${member}`);
    }
    for (const { operation } of open.places) assert.ok(operation.summary.endsWith("."), operation.operationId);
    assert.match(JSON.stringify(open.document), /nextPageToken of the page before/);
    assert.doesNotMatch(JSON.stringify(open.document), /next_page_token|task_id/);
  });
});

test("the OpenAPI document names the public URL with the prefix as its server, and paths without it", async () => {
  await using bed = await openBed({ publicHttpUrl: "https://agents.example/a/", restPrefix: "/v1" });
  const { document, places } = await OpenApiBook.read(bed.rest.http);
  assert.deepEqual(document.servers, [{ url: "https://agents.example/a/v1" }]);
  assert.ok(places.some(({ path }) => path === "/tasks/{id}"));
  assert.deepEqual([document.info["title"], document.info["version"]], ["scenarios", "1"]);
});

test("the OpenAPI document has the card's ways to authenticate", async () => {
  await using bed = await openBed({}, new ScenarioAgent({ card: SECURED as never }));
  const { document } = await OpenApiBook.read(bed.rest.http);
  assert.deepEqual(document.security.slice(0, 3), [{ bearer: [], mtls: [] }, { code: ["use"] }, { key: [] }]);
  const scopes = {};
  assert.deepEqual(document.components.securitySchemes, {
    key: { type: "apiKey", description: "A key.", in: "header", name: "X-Key" },
    bearer: { type: "http", scheme: "Bearer", bearerFormat: "JWT" },
    code: {
      type: "oauth2",
      flows: {
        authorizationCode: { authorizationUrl: "https://a", tokenUrl: "https://t", refreshUrl: "https://r", scopes: { use: "Use it." } },
      },
    },
    machine: { type: "oauth2", flows: { clientCredentials: { tokenUrl: "https://t", scopes } } },
    implicit: { type: "oauth2", flows: { implicit: { authorizationUrl: "https://a", scopes } } },
    password: { type: "oauth2", flows: { password: { tokenUrl: "https://t", scopes } } },
    device: { type: "oauth2", flows: { "x-deviceCode": { deviceAuthorizationUrl: "https://d", tokenUrl: "https://t", scopes } } },
    oidc: { type: "openIdConnect", openIdConnectUrl: "https://o/.well-known/openid-configuration" },
    mtls: { type: "mutualTLS" },
  });
});

function rowOfA2A(request: string): boolean {
  return !["Probe", "Child", "Reply"].includes(request);
}

/** Members of an operation's request body. */
function propertiesOf(open: OpenApiBook, { operation }: Place): string[] {
  const schema = operation.requestBody?.content["application/json"]?.schema;
  if (schema === undefined) return [];
  const name = (schema["$ref"] as string | undefined)?.split("/").at(-1);
  const own = name === undefined ? schema : (open.document.components.schemas[name] as JsonObject);
  return Object.keys((own["properties"] ?? {}) as Record<string, JsonValue>);
}
