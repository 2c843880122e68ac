import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { resolveOptions } from "../../../src/server/options.ts";
import { send, sharedBed } from "../bed.ts";
import type { Headers } from "../callers/caller.ts";
import type { HttpRequest } from "../callers/http.ts";
import { Http2Client } from "../callers/http2.ts";

const ORIGIN = "https://app.example.com";
const LOCAL = "http://localhost:3000";

/** A call of each surface, as a page would make it; none of them succeeds without a token. */
const CALLS: readonly (readonly [surface: string, call: HttpRequest])[] = [
  ["the card", { method: "GET", target: "/.well-known/agent-card.json" }],
  ["OpenAPI", { method: "GET", target: "/openapi.json" }],
  [
    "HTTP+JSON",
    { method: "POST", target: "/message:stream", headers: [["content-type", "application/json"]], body: JSON.stringify(send("complete")) },
  ],
  ["HTTP+JSON, DELETE", { method: "DELETE", target: "/tasks/t/pushNotificationConfigs/c" }],
  ["JSON-RPC", { method: "POST", target: "/jsonrpc", headers: [["content-type", "application/json"]], body: "{}" }],
  ["Connect", { method: "POST", target: "/lf.a2a.v1.A2AService/GetTask", headers: [["content-type", "application/json"]], body: "{}" }],
  [
    "gRPC-Web",
    {
      method: "POST",
      target: "/lf.a2a.v1.A2AService/GetTask",
      headers: [["content-type", "application/grpc-web+proto"]],
      body: "\0\0\0\0\0",
    },
  ],
  ["nothing", { method: "GET", target: "/nothing" }],
];

const preflight = ({ method, target }: HttpRequest, origin: string): HttpRequest => ({
  method: "OPTIONS",
  target,
  headers: [
    ["origin", origin],
    ["access-control-request-method", method],
    ["access-control-request-headers", "authorization,content-type"],
  ],
});
const from = (call: HttpRequest, origin: string, more: HttpRequest["headers"] = []): HttpRequest => ({
  ...call,
  headers: [...(call.headers ?? []), ...more, ["a2a-version", "1.0"], ["origin", origin]],
});
const granted = (headers: Headers): string[] => [...headers.keys()].filter((name) => name.startsWith("access-control-"));
const listed = (headers: Headers, name: string): string[] => (headers.get(name) ?? "").split(", ");

suite("CORS that is off", () => {
  const bed = sharedBed();

  test("grants nothing, whoever asks", async () => {
    for (const [surface, call] of CALLS) {
      for (const request of [preflight(call, ORIGIN), from(call, ORIGIN)]) {
        const { status, headers } = await bed().rest.http.fetch(request);
        assert.deepEqual([granted(headers), headers.get("vary")], [[], undefined], surface);
        if (request.method === "OPTIONS") assert.ok([404, 405].includes(status), surface);
      }
    }
  });
});

suite("CORS that is on", () => {
  const bed = sharedBed({ cors: { origins: [ORIGIN, LOCAL], maxAgeSeconds: 60 }, tokens: { s3cret: "alice" } });

  test("answers preflight requests of every surface with what its calls need, over both versions of HTTP", async () => {
    const http2 = new Http2Client(bed().server.ports.http);
    for (const [surface, call] of CALLS) {
      for (const client of [bed().rest.http, http2]) {
        const { status, headers, text } = await client.fetch(preflight(call, LOCAL));
        assert.deepEqual([status, text], [204, ""], surface);
        assert.equal(headers.get("access-control-allow-origin"), LOCAL);
        assert.equal(headers.get("access-control-max-age"), "60");
        assert.equal(headers.get("access-control-allow-credentials"), undefined);
        assert.equal(headers.get("vary"), "Origin");
        assert.ok(listed(headers, "access-control-allow-methods").includes(call.method), surface);
        const wanted = ["authorization", "content-type", "a2a-version", "a2a-extensions", "a2a-tenant", "last-event-id", "traceparent"];
        wanted.push("connect-protocol-version", "connect-timeout-ms", "grpc-timeout", "x-grpc-web", "x-user-agent");
        const allowed = listed(headers, "access-control-allow-headers");
        assert.deepEqual(
          wanted.filter((name) => !allowed.includes(name)),
          [],
        );
      }
    }
    http2.close();
  });

  test("lets the pages of its origins read replies and errors of every surface, with the headers that they need", async () => {
    for (const [surface, call] of CALLS) {
      for (const more of [[], [["authorization", "Bearer s3cret"]]] as const) {
        const { headers } = await bed().rest.http.fetch(from(call, ORIGIN, more));
        assert.equal(headers.get("access-control-allow-origin"), ORIGIN, surface);
        assert.equal(headers.get("vary"), "Origin", surface);
        assert.equal(headers.get("access-control-allow-credentials"), undefined);
        const wanted = [
          "grpc-status",
          "grpc-message",
          "grpc-status-details-bin",
          "a2a-extensions",
          "a2a-task-id",
          "retry-after",
          "www-authenticate",
          "etag",
        ];
        const exposed = listed(headers, "access-control-expose-headers");
        assert.deepEqual(
          wanted.filter((name) => !exposed.includes(name)),
          [],
        );
      }
    }
  });

  test("asks for no token in a preflight request, and for one in the call", async () => {
    const [, call] = CALLS.find(([surface]) => surface === "Connect") ?? assert.fail();
    assert.equal((await bed().rest.http.fetch(preflight(call, ORIGIN))).status, 204);
    const { status, headers } = await bed().rest.http.fetch(from(call, ORIGIN));
    assert.equal(status, 401);
    assert.match(headers.get("www-authenticate") ?? "", /^Bearer /);
  });

  test("grants nothing to any other origin, and says that its replies differ by origin", async () => {
    const others = [
      "https://app.example.com.evil.example",
      "http://app.example.com",
      "https://app.example.com:8443",
      "https://APP.example.com",
      "https://app.example.com/",
      "http://localhost",
      "null",
      "*",
      "",
    ];
    for (const origin of others) {
      for (const [surface, call] of CALLS) {
        for (const request of [preflight(call, origin), from(call, origin)]) {
          const { headers } = await bed().rest.http.fetch(request);
          assert.deepEqual([granted(headers), headers.get("vary")], [[], "Origin"], `${surface} from ${JSON.stringify(origin)}`);
        }
      }
    }
  });

  test("an OPTIONS request that is no preflight request is answered as any other method that a path does not take", async () => {
    const { status, headers } = await bed().rest.http.fetch({ method: "OPTIONS", target: "/jsonrpc", headers: [["origin", ORIGIN]] });
    assert.deepEqual([status, headers.get("allow"), headers.get("access-control-allow-origin")], [405, "POST", ORIGIN]);
  });
});

test("an origin is written exactly as browsers write it, or refused", () => {
  for (const origin of [
    "*",
    "null",
    "",
    "app.example.com",
    "https://app.example.com/",
    "https://app.example.com/a",
    "https://App.example.com",
    "https://app.example.com:443",
    "file://x",
  ]) {
    assert.throws(() => resolveOptions({ cors: { origins: [origin] } }), /cors\.origins\.0: is an exact origin/, origin);
  }
  assert.deepEqual(resolveOptions({ cors: { origins: [ORIGIN, "http://[::1]:8080"] } }).cors.origins, [ORIGIN, "http://[::1]:8080"]);
});
