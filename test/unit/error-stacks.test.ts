/** Errors for callers are made without looking up where; nothing else notices. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { connectError, withOlderCodes } from "../../src/rpc/errors.ts";

for (const limit of [10, 3, 0, Infinity])
  test(`an error for a caller takes no stack, and leaves the limit of stacks at ${limit}`, (t) => {
    const before = Error.stackTraceLimit;
    t.after(() => void (Error.stackTraceLimit = before));
    Error.stackTraceLimit = limit;
    const error = withOlderCodes(connectError("TASK_NOT_CANCELABLE", "it has ended"));
    assert.doesNotMatch(error.stack ?? "", /\n\s+at /);
    assert.equal(Error.stackTraceLimit, limit);
    assert.equal(/\n\s+at /.test(new Error("another").stack ?? ""), limit > 0);
  });
