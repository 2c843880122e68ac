import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { suite } from "node:test";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { everywhere, failureOf, send, sharedBed, stateOf, taskOf } from "../bed.ts";
import { checkFailure } from "../failures.ts";

/** A send whose metadata holds so many arrays within each other. */
function nested(levels: number): JsonObject {
  let inner: JsonValue = [];
  for (let level = 1; level < levels; level += 1) inner = [inner];
  return send("return", { metadata: { inner } });
}

/** A send with so many numbers in its metadata. */
function crowded(values: number): JsonObject {
  return send("return", { message: { contextId: randomUUID() }, metadata: { many: Array.from({ length: values }, (_, index) => index) } });
}

suite("what a request may hold", () => {
  const bed = sharedBed({ limits: { valuesPerRequest: 500, levelsPerRequest: 20 } });

  everywhere("R-370 is as many values as the option says", bed, async (caller) => {
    assert.equal(stateOf(taskOf(await caller.unary("SendMessage", crowded(400)))), "TASK_STATE_COMPLETED");
    const request = crowded(600);
    const failure = await failureOf(caller.unary("SendMessage", request));
    const { contextId } = request["message"] as { contextId: string };
    assert.equal((await caller.unary("ListTasks", { contextId })).message["totalSize"], undefined);
    return checkFailure(caller, failure, "MESSAGE_TOO_LARGE");
  });

  everywhere("R-370 is nested as deep as the option says, and the field that is deeper is named", bed, async (caller) => {
    assert.equal(stateOf(taskOf(await caller.unary("SendMessage", nested(8)))), "TASK_STATE_COMPLETED");
    const failure = await failureOf(caller.unary("SendMessage", nested(10)));
    assert.match(failure.message, /nested too deep: more than 20 levels/);
    // JSON says which value it is, binary which field holds it.
    for (const field of failure.violations) assert.match(field, /^metadata/);
    return checkFailure(caller, failure, "INVALID_ARGUMENT", failure.violations).reason;
  });
});
