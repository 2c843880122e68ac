/** What the client's errors say of themselves in a log, also where nobody caught them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { create } from "@bufbuild/protobuf";
import { TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AError, StillRunningError } from "../../src/client/index.ts";
import { connectError } from "../../src/rpc/errors.ts";

/** As Node shows an error that nobody caught. */
function uncaught(error: Error): string {
  return inspect(error, { customInspect: false, depth: 5 });
}

test("an error shows its facts and those of its cause, and nothing of the schema of its details", () => {
  const cause = connectError("TASK_NOT_FOUND", "no such task", { metadata: { taskId: "t-1" } });
  const shown = uncaught(A2AError.from(cause));
  for (const fact of ["reason: 'TASK_NOT_FOUND'", "taskId: 't-1'", "[cause]: [ConnectError: [not_found] no such task]"])
    assert.ok(shown.includes(fact), shown);
  assert.ok(!shown.includes("typeName"), shown);
  assert.equal(cause.details.length, 1);
});

test("an error about a task shows its ids, and keeps its content to itself", () => {
  const task = create(TaskSchema, { id: "t-1", contextId: "c-1", artifacts: [{ artifactId: "a-long-one" }] });
  const error = new StillRunningError(connectError("STORE_UNAVAILABLE", "away"), task);
  assert.equal(error.task, task);
  const shown = uncaught(error);
  assert.ok(shown.includes("contextId: 'c-1'") && !shown.includes("a-long-one"), shown);
});
