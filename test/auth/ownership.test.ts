/** Whose tasks are whose where the server is told otherwise, and what a caller can find out of others' tasks in roundabout ways. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import type { AgentEvent } from "../../src/core/events.ts";
import { completed, memo, textPart } from "../../src/core/events.ts";
import type { Turn } from "../../src/core/agent.ts";
import type { OwnerOf, Principal } from "../../src/rpc/auth/authenticate.ts";
import { OptionsError } from "../../src/server/options.ts";
import { collect, errorOf, everywhere, failureOf, openBed, send, sharedBed, taskOf } from "../bindings/bed.ts";
import { checkFailure } from "../bindings/failures.ts";
import { call, OF_A_TASK } from "../bindings/matrix/operations.ts";
import { ScenarioAgent } from "../bindings/scenario-agent.ts";

const TEAM = { "token-of-alice": { name: "alice" }, "token-of-bob": { name: "bob" }, "token-of-carol": { name: "carol" } };
const bearer = (name: string): { headers: { authorization: string } } => ({ headers: { authorization: `Bearer token-of-${name}` } });
const [ALICE, BOB, CAROL] = [bearer("alice"), bearer("bob"), bearer("carol")];

/** Alice and Bob share their tasks. */
const byTeam: OwnerOf = ({ name }: Principal) => (name === "carol" ? "carol" : "the team");

suite("tasks that a team shares", { timeout: 60_000 }, () => {
  const bed = sharedBed({ tokens: TEAM, ownerOf: byTeam, push: { enabled: true } });

  everywhere("R-366 R-368 are seen, followed, continued and listed by each of the team, and by nobody else", bed, async (caller) => {
    const contextId = crypto.randomUUID();
    const { id } = taskOf(await caller.unary("SendMessage", send("input", { message: { contextId } }), ALICE));
    const failures = [];
    for (const operation of OF_A_TASK) {
      const failure = await failureOf(call(caller, operation, operation.request(id), CAROL));
      failures.push(checkFailure(caller, failure, "TASK_NOT_FOUND"));
    }
    assert.equal((await caller.unary("ListTasks", { contextId }, CAROL)).message["totalSize"], undefined);
    assert.equal((await caller.unary("ListTasks", { contextId }, BOB)).message["totalSize"], 1);
    const { frames } = await collect(caller.stream("SendStreamingMessage", send("complete", { message: { taskId: id } }), BOB));
    assert.equal((await caller.unary("GetTask", { id }, ALICE)).message["id"], id);
    return [failures, frames];
  });
});

/** Says who sent the message, and what it found of the tasks that the message refers to. */
class Referring extends ScenarioAgent {
  override async *run(turn: Turn): AsyncIterable<AgentEvent> {
    yield memo({ of: turn.principal });
    const found = await Promise.all(turn.message.referenceTaskIds.map((id) => turn.memoOf(id)));
    yield completed({ parts: [textPart(JSON.stringify([turn.principal, turn.owner, found]))] });
  }
}

test("a reference to another's task is one to a task that is not there; within one owner it is found", async () => {
  await using bed = await openBed({ tokens: TEAM, ownerOf: byTeam }, new Referring());
  for (const caller of bed.callers) {
    const ask = async (referenceTaskIds: string[], who: object): Promise<{ id: string; said: unknown }> => {
      const task = taskOf(await caller.unary("SendMessage", send("x", { message: { referenceTaskIds } }), who));
      const { message } = task["status"] as { message: { parts: { text: string }[] } };
      return { id: task.id, said: JSON.parse(message.parts[0]?.text ?? "") as unknown };
    };
    const { id } = await ask([], ALICE);
    assert.deepEqual((await ask([id], BOB)).said, ["bob", "the team", [{ of: "alice" }]]);
    const [of, ofNone] = [await ask([id], CAROL), await ask([crypto.randomUUID()], CAROL)];
    assert.deepEqual(of.said, ["carol", "carol", [null]]);
    assert.deepEqual(of.said, ofNone.said);
  }
});

test("R-247 R-249 R-365 a position in another's task is one in a task that is not there", async () => {
  const LOG = "urn:throughline:a2a:log:v1";
  await using bed = await openBed({ tokens: TEAM });
  for (const caller of bed.callers) {
    const alice = { headers: { ...ALICE.headers, "a2a-extensions": LOG } };
    const { id } = taskOf(await caller.unary("SendMessage", send("input"), ALICE));
    const stream = caller.stream("SubscribeToTask", { id }, alice);
    const first = await stream.next();
    assert.ok(first.done !== true);
    stream.leave();
    const { metadata = {} } = first.value.payload.value as { metadata?: JsonObject };
    const { position } = metadata[LOG] as { position: string };
    const answers = [];
    for (const taskId of [id, crypto.randomUUID()]) {
      const bob = {
        headers: { ...BOB.headers, "a2a-extensions": LOG, "last-event-id": `${taskId}/${position}` },
      };
      for (const resumed of [
        caller.stream("SubscribeToTask", { id: taskId }, bob),
        caller.stream("SendStreamingMessage", send("input"), bob),
        caller.unary("SendMessage", send("input"), bob),
      ]) {
        const { failure } = await errorOf(resumed);
        assert.deepEqual(checkFailure(caller, failure, "TASK_NOT_FOUND").metadata, { taskId });
        answers.push(failure.message);
      }
    }
    assert.equal(new Set(answers).size, 1);
  }
});

test("functions of serve() take the place of options, and are not mixed with them", async () => {
  const authenticate = (): Principal => ({ name: "alice", scopes: ["few"] });
  const asked: string[] = [];
  const authorize = (principal: Principal, operation: string): { message: string } | undefined => {
    asked.push(`${principal.name} ${operation}`);
    return operation === "GetTask" ? { message: "not on Mondays" } : undefined;
  };
  await using bed = await openBed({ authenticate, authorize });
  for (const caller of bed.callers) {
    await caller.unary("ListTasks");
    const { failure, headers } = await errorOf(caller.unary("GetTask", { id: "x" }));
    assert.deepEqual(checkFailure(caller, failure, "PERMISSION_DENIED").metadata, { operation: "GetTask" });
    assert.deepEqual([failure.message, headers.get("www-authenticate")], ["not on Mondays", undefined]);
  }
  assert.deepEqual(
    asked,
    bed.callers.flatMap(() => ["alice ListTasks", "alice GetTask"]),
  );
  for (const [init, message] of [
    [{ authenticate, tokens: { a: "alice" } }, "auth: serve() has a function authenticate; that, or tokens and auth"],
    [{ authenticate, authorize, auth: { scopes: { "*": ["a"] } } }, "auth.scopes: serve() has a function authorize; that, or auth.scopes"],
    [{ auth: { scopes: { "*": ["a"] } } }, "auth.scopes: nobody could have one: callers have no way to say who they are"],
  ] as const) {
    await assert.rejects(openBed(init as object), (error: unknown) => error instanceof OptionsError && error.message === message);
  }
});

test("a tenant is told in the claims of nobody without tenants, and one of several has a prefix", async () => {
  const jwt = { issuer: "https://login.example", audience: "a" };
  for (const [auth, message] of [
    [{ jwt: { ...jwt, tenantsClaim: "t" } }, "auth.jwt: a tenantsClaim has no effect without tenants"],
    [
      { jwt: [jwt, { ...jwt, issuer: "https://b.example" }] },
      "auth.jwt.1.prefix: is needed where there are several issuers, another for each",
    ],
    [{ jwt: { ...jwt, issuer: "http://login.example" } }, "auth.jwt.0.issuer: is an https URL; http is for this machine only"],
    [{ jwt: { ...jwt, algorithms: ["HS256"] } }, "auth.jwt.0.algorithms: HS256 needs a secret, and keys that are published are none"],
    [{ jwt: { ...jwt, algorithms: ["ES256"], secret: "x".repeat(32) } }, "auth.jwt.0.algorithms: a secret is for HS256, HS384, HS512 only"],
    [
      { jwt: { ...jwt, scheme: { oauth: {} } } },
      'auth.jwt.0.scheme: is a SecurityScheme as the card has it, such as {"oauth2SecurityScheme":{…}}',
    ],
  ] as const) {
    await assert.rejects(openBed({ auth: auth as object }), (error: unknown) => error instanceof OptionsError && error.message === message);
  }
});
