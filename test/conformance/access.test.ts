/** Rules about who sees what that no other test shows. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import type { Log } from "../../src/core/telemetry.ts";
import { errorOf, everywhere, failureOf, openBed, send, sharedBed, taskOf } from "../bindings/bed.ts";
import { checkFailure } from "../bindings/failures.ts";

const ALICE = { authorization: "Bearer token-of-alice" };
const BOB = { authorization: "Bearer token-of-bob" };
const tokens = { "token-of-alice": "alice", "token-of-bob": "bob" };

suite("principals", { timeout: 60_000 }, () => {
  const bed = sharedBed({ tokens });

  everywhere("R-043 R-366 a list without any filter is of the caller's own tasks", bed, async (caller) => {
    const his = taskOf(await caller.unary("SendMessage", send("input"), { headers: BOB }));
    const hers = taskOf(await caller.unary("SendMessage", send("input"), { headers: ALICE }));
    for (const [headers, own, other] of [
      [ALICE, hers.id, his.id],
      [BOB, his.id, hers.id],
    ] as const) {
      const { message } = await caller.unary("ListTasks", { pageSize: 100 }, { headers });
      const ids = (message["tasks"] as JsonObject[]).map(({ id }) => id);
      assert.equal(message["totalSize"], ids.length);
      assert.ok(ids.includes(own) && !ids.includes(other));
    }
    return undefined;
  });

  everywhere("R-360 nothing in a request's body makes its caller another one", bed, async (caller) => {
    const { id } = taskOf(await caller.unary("SendMessage", send("input"), { headers: ALICE }));
    const claims = { principal: "alice", owner: "alice", authorization: ALICE.authorization, "x-user": "alice" };
    const request = send("complete", { message: { taskId: id, metadata: claims }, metadata: claims });
    const failures = await Promise.all(
      [caller.unary("SendMessage", request, { headers: BOB }), caller.unary("CancelTask", { id, metadata: claims }, { headers: BOB })].map(
        failureOf,
      ),
    );
    return failures.map((failure) => checkFailure(caller, failure, "TASK_NOT_FOUND"));
  });
});

suite("principals and tenants", { timeout: 60_000 }, () => {
  const bed = sharedBed({ tokens, tenants: ["acme", "umbrella"] });

  everywhere("R-306 R-368 a task belongs to its caller in its tenant: both must be right", bed, async (caller) => {
    const { id } = taskOf(await caller.unary("SendMessage", { ...send("input"), tenant: "acme" }, { headers: ALICE }));
    assert.equal((await caller.unary("GetTask", { id, tenant: "acme" }, { headers: ALICE })).message["id"], id);
    const strangers = [
      [{ tenant: "acme" }, BOB],
      [{ tenant: "umbrella" }, ALICE],
      [{}, ALICE],
    ] as const;
    const failures = [];
    for (const [tenant, headers] of strangers) {
      failures.push(checkFailure(caller, await failureOf(caller.unary("GetTask", { id, ...tenant }, { headers })), "TASK_NOT_FOUND"));
      assert.equal((await caller.unary("ListTasks", tenant, { headers })).message["totalSize"], undefined);
    }
    return failures;
  });
});

test("R-371 R-376 a token, right or wrong, is in no log and in no answer", async () => {
  const lines: unknown[] = [];
  const keep = (facts: object, message: string): void => void lines.push([facts, message]);
  const log: Log = { info: keep, warn: keep, error: keep };
  const secrets = { right: "s3cret-of-alice", wrong: "s3cret-of-nobody" };
  await using bed = await openBed({ tokens: { [secrets.right]: "alice" }, log });
  const answers: unknown[] = [];
  for (const caller of bed.callers) {
    const right = { headers: { authorization: `Bearer ${secrets.right}` } };
    const wrong = { headers: { authorization: `Bearer ${secrets.wrong}` } };
    answers.push((await caller.unary("SendMessage", send("throw"), right)).message);
    for (const call of [caller.unary("GetTask", { id: "none" }, right), caller.unary("GetTask", { id: "none" }, wrong)]) {
      const { failure, headers } = await errorOf(call);
      answers.push(failure, [...headers]);
    }
  }
  const card = await bed.rest.http.fetch({ method: "GET", target: "/.well-known/agent-card.json" });
  answers.push(card.text);
  // What the agent threw is among the lines: they are those of this server.
  assert.ok(lines.length > 0);
  const shown = JSON.stringify([answers, lines], (_, value: unknown) =>
    value instanceof Error ? `${value.message} ${value.stack}` : value,
  );
  for (const secret of Object.values(secrets)) assert.ok(!shown.includes(secret));
});
