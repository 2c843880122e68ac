/** What the client's errors say of themselves in a log. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { create } from "@bufbuild/protobuf";
import { TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AError, StillRunningError, UnknownOutcomeError } from "../../src/client/index.ts";
import { connectError } from "../../src/rpc/errors.ts";

/** What is shown behind the stack. */
function factsOf(error: A2AError): string {
  const shown = inspect(error, { breakLength: Infinity });
  assert.ok(shown.startsWith(`${error.stack} `), shown);
  return shown.slice((error.stack ?? "").length + 1);
}

test("an error shows its facts, and nothing of the schema of its details", () => {
  const cause = connectError("TASK_NOT_FOUND", "no such task", { metadata: { taskId: "t-1" } });
  const error = A2AError.from(cause);
  assert.equal(error.cause, cause);
  assert.equal(factsOf(error), "{ reason: 'TASK_NOT_FOUND', code: 'NotFound', metadata: { taskId: 't-1' } }");
});

test("an error shows what was below the binding's own, and an error that was none of a binding", () => {
  const refused = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED", stack: "" });
  const cause = connectError("STORE_UNAVAILABLE", "away");
  cause.cause = refused;
  assert.match(factsOf(A2AError.from(cause)), /^\{ reason: 'STORE_UNAVAILABLE', code: 'Unavailable', cause: .*ECONNREFUSED/s);
  assert.match(factsOf(A2AError.from(new Error("odd"))), /cause: Error: odd\n/);
});

test("errors about a task show its ids, and leave its content to their property", () => {
  const cause = connectError("STORE_UNAVAILABLE", "away");
  const task = create(TaskSchema, { id: "t-1", contextId: "c-1", artifacts: [{ artifactId: "a-long-one" }] });
  const running = new StillRunningError(cause, task);
  assert.equal(running.task, task);
  assert.equal(factsOf(running), "{ reason: 'STORE_UNAVAILABLE', code: 'Unavailable', taskId: 't-1', contextId: 'c-1' }");
  const unknown = new UnknownOutcomeError(cause, { messageId: "m-1" });
  assert.equal(factsOf(unknown), "{ reason: 'STORE_UNAVAILABLE', code: 'Unavailable', messageId: 'm-1' }");
});
