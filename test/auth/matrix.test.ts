/** Every operation over every surface with every kind of credentials, and what exactly each is answered with. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import type { JWTPayload } from "jose";
import type { AgentCardInit, CardReader } from "../../src/core/agent.ts";
import { type Bed, brief, collect, errorOf, openBed, send, startTask, stateOf } from "../bindings/bed.ts";
import type { Caller, CallOptions, Headers } from "../bindings/callers/caller.ts";
import { checkFailure } from "../bindings/failures.ts";
import { call, type Operation, OPERATIONS } from "../bindings/matrix/operations.ts";
import { ScenarioAgent } from "../bindings/scenario-agent.ts";
import { AUDIENCE, IdentityProvider, type TokenOptions } from "./identity-provider.ts";

/** Each operation has a scope of its own, beside the one of all. */
const scopeOf = (operation: string): string => `a2a.${operation}`;
const ALL_SCOPES = ["a2a", ...OPERATIONS.map(({ name }) => scopeOf(name))];
const SCOPES = Object.fromEntries(OPERATIONS.map(({ name }) => [name, ["a2a", scopeOf(name)]]));

/** Has a card of its own for each caller. */
class Extended extends ScenarioAgent {
  override async extendedCard({ principal, tenant, scopes }: CardReader): Promise<AgentCardInit> {
    return { ...this.card, description: `for ${principal} of ${tenant} with ${scopes.length} scopes` };
  }
}

/** Beside the table of the bindings: sends go to the task as well, so that all but two are about one. */
const OF_THE_TASK: Readonly<Record<string, (taskId: string) => JsonObject>> = {
  SendMessage: (taskId) => send("complete", { message: { taskId } }),
  SendStreamingMessage: (taskId) => send("complete", { message: { taskId } }),
};

/** Operations that are about no task: strangers may call them, and see nothing of others. */
const OF_NO_TASK = new Set(["ListTasks", "GetExtendedAgentCard"]);

function requestOf({ name, request }: Operation, taskId: string, tenant: string): JsonObject {
  return { ...(OF_THE_TASK[name] ?? request)(taskId), tenant };
}

/** A token that is not taken, and what is said of it. */
interface BadToken {
  readonly token: (idp: IdentityProvider, good: JWTPayload) => Promise<string | undefined>;
  readonly message: string;
  readonly challenge: string;
}

const REALM = 'Bearer realm="a2a"';
const invalid = (message: string): Pick<BadToken, "message" | "challenge"> => ({
  message,
  challenge: `${REALM}, error="invalid_token", error_description="${message}"`,
});

const BAD: Readonly<Record<string, BadToken>> = {
  "no credential": {
    token: async () => undefined,
    message: "this server wants Authorization: Bearer <token>",
    challenge: REALM,
  },
  "a bad credential": {
    token: async (idp, good) => tampered(await idp.token(good)),
    ...invalid("the token's signature is not right"),
  },
  "an expired one": { token: (idp, good) => idp.token(good, { expiresIn: -120 }), ...invalid("the token has expired") },
  "one for another audience": {
    token: (idp, good) => idp.token({ ...good, aud: "https://other.test" }),
    ...invalid("the token is for another audience"),
  },
};

/** The token with another payload under the same signature. */
function tampered(token: string): string {
  const [header, payload = "", signature] = token.split(".");
  const claims = { ...(JSON.parse(Buffer.from(payload, "base64url").toString()) as object), sub: "root" };
  return [header, Buffer.from(JSON.stringify(claims)).toString("base64url"), signature].join(".");
}

suite("an authorization matrix", { timeout: 120_000 }, () => {
  let idp: IdentityProvider;
  let bed: Bed;
  before(async () => {
    idp = await IdentityProvider.open();
    const jwt = { issuer: idp.issuer, audience: AUDIENCE, tenantsClaim: "tenants" };
    bed = await openBed({ auth: { jwt, scopes: SCOPES }, tenants: ["acme", "umbrella"], push: { enabled: true } }, new Extended());
  });
  after(async () => {
    await bed[Symbol.asyncDispose]();
    await idp[Symbol.asyncDispose]();
  });

  /** Claims of a token that may do everything in the tenant. */
  const claims = (sub: string, tenant: string, scopes = ALL_SCOPES): JWTPayload => ({ sub, tenants: [tenant], scope: scopes.join(" ") });

  async function bearer(payload: JWTPayload, options?: TokenOptions): Promise<CallOptions> {
    return { headers: { authorization: `Bearer ${await idp.token(payload, options)}` } };
  }

  /** A task of alice's that waits for her, with a webhook. */
  async function taskOfAlice(caller: Caller): Promise<string> {
    const alice = await bearer(claims("alice", "acme"));
    const { message } = await caller.unary("SendMessage", { ...send("input"), tenant: "acme" }, alice);
    const { id } = message["task"] as { id: string };
    const webhook = { tenant: "acme", taskId: id, id: "own", url: "https://example.com/hook" };
    await caller.unary("CreateTaskPushNotificationConfig", webhook, alice);
    return id;
  }

  /** Sees to it that nobody has touched the task. */
  async function untouched(caller: Caller, id: string): Promise<void> {
    const alice = await bearer(claims("alice", "acme"));
    const { message } = await caller.unary("GetTask", { id, tenant: "acme" }, alice);
    assert.equal(stateOf(message), "TASK_STATE_INPUT_REQUIRED");
    assert.equal((message["history"] as JsonObject[]).filter(({ role }) => role === "ROLE_USER").length, 1);
    const { message: listed } = await caller.unary("ListTaskPushNotificationConfigs", { taskId: id, tenant: "acme" }, alice);
    assert.equal((listed["configs"] as JsonObject[]).length, 1);
  }

  /** What a refusal says in its headers but for the moment and the details, which are compared by themselves. */
  const said = (headers: Headers): Record<string, string> =>
    Object.fromEntries([...headers].filter(([name]) => !["date", "content-length", "grpc-status-details-bin"].includes(name)));

  for (const surface of ["grpc", "connect", "grpcWeb", "rest", "jsonRpc"] as const) {
    suite(`over ${surface}`, () => {
      let id: string;
      before(async () => {
        id = await taskOfAlice(bed[surface]);
      });
      after(() => untouched(bed[surface], id));

      for (const [what, bad] of Object.entries(BAD)) {
        test(`R-243 R-244 R-357 R-358 C-33 ${what} is answered by each operation with what is wrong and what is wanted`, async () => {
          const caller = bed[surface];
          for (const operation of OPERATIONS) {
            const token = await bad.token(idp, claims("alice", "acme"));
            const options = token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } };
            const { failure, headers } = await errorOf(call(caller, operation, requestOf(operation, id, "acme"), options));
            checkFailure(caller, failure, "UNAUTHENTICATED");
            assert.equal(failure.message, bad.message, operation.name);
            assert.equal(headers.get("www-authenticate"), bad.challenge, operation.name);
          }
        });
      }

      test("R-244 R-245 R-246 R-359 C-33 a missing scope is named by each operation, before it looks at anything", async () => {
        const caller = bed[surface];
        for (const operation of OPERATIONS) {
          const scope = scopeOf(operation.name);
          const without = ALL_SCOPES.filter((one) => one !== scope);
          const alice = await bearer(claims("alice", "acme", without));
          for (const [tenant, version] of [
            ["acme", "1.0"],
            ["nowhere", "0.1"],
          ] as const) {
            const options = { headers: { ...alice.headers, "a2a-version": version } };
            const { failure, headers } = await errorOf(call(caller, operation, requestOf(operation, id, tenant), options));
            const { metadata } = checkFailure(caller, failure, "PERMISSION_DENIED");
            assert.deepEqual(metadata, { operation: operation.name, missingScopes: scope });
            assert.equal(failure.message, `${operation.name} needs the scope ${scope}`);
            assert.equal(headers.get("www-authenticate"), `${REALM}, error="insufficient_scope", scope="a2a ${scope}"`);
          }
        }
      });

      for (const [who, tenant] of [
        ["another owner's", "acme"],
        ["another tenant's", "umbrella"],
      ] as const) {
        test(`R-247 R-248 R-249 R-365 R-366 R-367 ${who} task is to each operation as one that is not there`, async () => {
          const caller = bed[surface];
          const stranger = await bearer(claims(tenant === "acme" ? "bob" : "alice", tenant));
          for (const operation of OPERATIONS) {
            if (OF_NO_TASK.has(operation.name)) continue;
            const answers = [];
            for (const taskId of [id, crypto.randomUUID()]) {
              const { failure, headers } = await errorOf(call(caller, operation, requestOf(operation, taskId, tenant), stranger));
              assert.deepEqual(checkFailure(caller, failure, "TASK_NOT_FOUND").metadata, { taskId });
              answers.push([failure.message, said(headers)]);
            }
            assert.deepEqual(answers[0], answers[1], operation.name);
          }
          const { message: list } = await caller.unary("ListTasks", { tenant, pageSize: 1 }, stranger);
          assert.deepEqual([list["tasks"], list["totalSize"], list["nextPageToken"]], [undefined, undefined, undefined]);
          const { message: card } = await caller.unary("GetExtendedAgentCard", { tenant }, stranger);
          assert.match(card["description"] as string, tenant === "acme" ? /^for bob of acme/ : /^for alice of umbrella/);
        });
      }

      test("R-247 R-249 R-306 a tenant that is not the caller's is to each operation as one that is not there", async () => {
        const caller = bed[surface];
        const alice = await bearer(claims("alice", "umbrella"));
        for (const operation of OPERATIONS) {
          const answers = [];
          for (const tenant of ["acme", "nowhere"]) {
            const { failure, headers } = await errorOf(call(caller, operation, requestOf(operation, id, tenant), alice));
            assert.deepEqual(checkFailure(caller, failure, "TENANT_NOT_FOUND").metadata, { tenant });
            answers.push([failure.message, said(headers)]);
          }
          assert.deepEqual(answers[0], answers[1], operation.name);
        }
      });

      test("R-357 R-365 who is right is served by each operation", async () => {
        const caller = bed[surface];
        const alice = await bearer(claims("alice", "acme"));
        for (const operation of OPERATIONS) {
          const own = await taskOfAlice(caller);
          const request = requestOf(operation, own, "acme");
          if (operation.streams) {
            // A subscription to a task that waits goes on; its first frame says that it was let in.
            const stream = caller.stream(operation.name, request, alice);
            if (operation.name === "SubscribeToTask") {
              const first = await stream.next();
              assert.ok(first.done !== true);
              stream.leave();
            } else {
              const { frames, end } = await collect(stream);
              assert.deepEqual([brief(frames.at(-1) as JsonObject), end], ["status COMPLETED", "clean"]);
            }
          } else await caller.unary(operation.name, request, alice);
        }
      });
    });
  }

  test("a caller of one tenant need not name it", async () => {
    for (const caller of bed.callers) {
      const alice = await bearer(claims("alice", "umbrella"));
      const id = await startTask(caller, "input", { tenant: "umbrella" }).catch(() => "");
      assert.equal(id, "", "a call without credentials is refused");
      const { message } = await caller.unary("SendMessage", send("input"), alice);
      const { id: taskId } = message["task"] as { id: string };
      assert.equal((await caller.unary("GetTask", { id: taskId, tenant: "umbrella" }, alice)).message["id"], taskId);
    }
  });

  test("a caller of several tenants has to say which", async () => {
    for (const caller of bed.callers) {
      const both = await bearer({ ...claims("alice", "acme"), tenants: "acme umbrella" });
      const { failure } = await errorOf(caller.unary("GetTask", { id: "x" }, both));
      checkFailure(caller, failure, "INVALID_ARGUMENT", ["tenant"]);
    }
  });
});
