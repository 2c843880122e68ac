/** The error codes of A2A 1.0.1, by hand: what the one table of this server must say. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Reason } from "../../src/core/errors.ts";
import { connectError, detailsJson, wireError } from "../../src/rpc/errors.ts";

const CODES: readonly (readonly [Reason, grpc: string, http: number, jsonRpc: number])[] = [
  ["TASK_NOT_FOUND", "NOT_FOUND", 404, -32001],
  ["TASK_NOT_CANCELABLE", "FAILED_PRECONDITION", 400, -32002],
  ["PUSH_NOTIFICATION_NOT_SUPPORTED", "FAILED_PRECONDITION", 400, -32003],
  ["UNSUPPORTED_OPERATION", "FAILED_PRECONDITION", 400, -32004],
  ["CONTENT_TYPE_NOT_SUPPORTED", "INVALID_ARGUMENT", 400, -32005],
  ["INVALID_AGENT_RESPONSE", "INTERNAL", 500, -32006],
  ["EXTENDED_AGENT_CARD_NOT_CONFIGURED", "FAILED_PRECONDITION", 400, -32007],
  ["EXTENSION_SUPPORT_REQUIRED", "FAILED_PRECONDITION", 400, -32008],
  ["VERSION_NOT_SUPPORTED", "FAILED_PRECONDITION", 400, -32009],
];

test("R-230 R-233 R-242 C-06 P-26 each error of A2A has its code on each binding, its reason and a message", () => {
  for (const [reason, status, http, jsonRpc] of CODES) {
    const error = wireError(connectError(reason, "what a person reads"));
    assert.deepEqual([error.status, error.http, error.jsonRpc, error.message], [status, http, jsonRpc, "what a person reads"], reason);
    assert.deepEqual(detailsJson(error), [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason, domain: "a2a-protocol.org" }]);
  }
});
