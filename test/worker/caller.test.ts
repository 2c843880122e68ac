import assert from "node:assert/strict";
import { test } from "node:test";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { CallerSchema } from "../../gen/throughline/v1/log_pb.ts";
import type { Caller } from "../../src/core/agent.ts";
import { callerOf, storedCaller } from "../../src/worker/caller.ts";

test("a caller is to a turn on another replica who it was to the one that took its message", () => {
  for (const caller of [
    { principal: "alice", tenant: "", owner: "alice", scopes: [], claims: {} },
    { principal: "alice", tenant: "acme", owner: "the team", scopes: ["a", "b"], claims: { email: "a@b.c", groups: ["x", { y: null }] } },
    { principal: "", tenant: "", owner: "", scopes: [], claims: {} },
  ] as const satisfies readonly Caller[]) {
    assert.deepEqual(callerOf(fromBinary(CallerSchema, toBinary(CallerSchema, storedCaller(caller)))), caller);
  }
});

test("a caller that was stored before scopes and owners were is one that has none, and owns its tasks", () => {
  const { principal, tenant } = { principal: "alice", tenant: "acme" };
  const bytes = toBinary(CallerSchema, storedCaller({ principal, tenant, owner: principal, scopes: [], claims: {} }));
  assert.deepEqual(callerOf(fromBinary(CallerSchema, bytes)), { principal, tenant, owner: principal, scopes: [], claims: {} });
  assert.deepEqual(callerOf(undefined), { principal: "anonymous", tenant: "", owner: "anonymous", scopes: [], claims: {} });
});
