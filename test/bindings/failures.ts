/** The error table once more, by hand: what each reason is on each binding (requirements 1.4, 1.5, C-06, C-33, C-60). */
import assert from "node:assert/strict";
import type { Caller, Failure } from "./callers/caller.ts";

/** gRPC status, HTTP status, JSON-RPC code, HTTP status of the JSON-RPC reply; domain of ErrorInfo. */
type Row = readonly [grpc: number, http: number, jsonRpc: number, jsonRpcHttp: number, domain: string];

const A2A = "a2a-protocol.org";
const OWN = "throughline.dev";

const ROWS: Readonly<Record<string, Row>> = {
  TASK_NOT_FOUND: [5, 404, -32001, 200, A2A],
  TASK_NOT_CANCELABLE: [9, 400, -32002, 200, A2A],
  PUSH_NOTIFICATION_NOT_SUPPORTED: [9, 400, -32003, 200, A2A],
  UNSUPPORTED_OPERATION: [9, 400, -32004, 200, A2A],
  CONTENT_TYPE_NOT_SUPPORTED: [3, 400, -32005, 200, A2A],
  INVALID_AGENT_RESPONSE: [13, 500, -32006, 200, A2A],
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: [9, 400, -32007, 200, A2A],
  EXTENSION_SUPPORT_REQUIRED: [9, 400, -32008, 200, A2A],
  VERSION_NOT_SUPPORTED: [9, 400, -32009, 200, A2A],
  INVALID_ARGUMENT: [3, 400, -32602, 200, OWN],
  PARSE_ERROR: [3, 400, -32700, 200, OWN],
  INVALID_REQUEST: [3, 400, -32600, 200, OWN],
  METHOD_NOT_FOUND: [12, 404, -32601, 200, OWN],
  PATH_NOT_FOUND: [5, 404, -32601, 404, OWN],
  METHOD_NOT_ALLOWED: [12, 405, -32600, 405, OWN],
  INTERNAL: [13, 500, -32603, 200, OWN],
  UNAUTHENTICATED: [16, 401, -31401, 401, OWN],
  TENANT_NOT_FOUND: [5, 404, -31404, 200, OWN],
  MESSAGE_TOO_LARGE: [8, 413, -31413, 413, OWN],
  RESOURCE_EXHAUSTED: [8, 429, -31429, 429, OWN],
  STORE_UNAVAILABLE: [14, 503, -32603, 503, OWN],
  IDENTITY_UNAVAILABLE: [14, 503, -32603, 503, OWN],
  PERMISSION_DENIED: [7, 403, -31403, 403, OWN],
  SERVER_DRAINING: [14, 503, -32603, 503, OWN],
  DEADLINE_EXCEEDED: [4, 504, -32603, 504, OWN],
};

/** HTTP status of a unary call by gRPC's code, as the Connect protocol has it. */
const CONNECT_HTTP: Readonly<Record<number, number>> = {
  3: 400,
  4: 504,
  5: 404,
  7: 403,
  8: 429,
  9: 400,
  12: 501,
  13: 500,
  14: 503,
  16: 401,
};

/** What the same failure is on every binding. */
export type PlainFailure = { readonly reason: string; readonly metadata: Record<string, string>; readonly violations: string[] };

/** Checks the binding's own codes and the domain; answers what must be equal everywhere. `violations`: exactly these fields. */
export function checkFailure(
  caller: Pick<Caller, "binding">,
  failure: Failure,
  reason: string,
  violations: readonly string[] = [],
): PlainFailure {
  assert.equal(failure.reason, reason, failure.message);
  const [grpc, http, jsonRpc, jsonRpcHttp, domain] = ROWS[reason] as Row;
  const expected = {
    grpc: [grpc, undefined],
    connect: [grpc, CONNECT_HTTP[grpc]],
    "grpc-web": [grpc, undefined],
    rest: [http, http],
    "json-rpc": [jsonRpc, jsonRpcHttp],
  }[caller.binding];
  // In mid-stream there is no status any more.
  if (failure.httpStatus === undefined) assert.equal(failure.code, expected[0]);
  else assert.deepEqual([failure.code, failure.httpStatus], expected);
  assert.equal(failure.domain, domain);
  assert.notEqual(failure.message, "");
  assert.deepEqual(failure.violations, violations);
  return { reason, metadata: { ...failure.metadata }, violations: [...failure.violations] };
}
