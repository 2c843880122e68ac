/** What is taken for a place in a trace, and handed on. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { parseTraceContext, traceHeaders } from "../../src/core/trace-context.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";
const PARENT = `00-${TRACE}-${SPAN}-01`;

suite("a place in a trace", () => {
  test("is handed on as it came", () => {
    assert.deepEqual(traceHeaders(parseTraceContext(PARENT, "a=1,b=2")), { traceparent: PARENT, tracestate: "a=1,b=2" });
    assert.deepEqual(traceHeaders(parseTraceContext(PARENT)), { traceparent: PARENT });
    assert.deepEqual(traceHeaders(undefined), {});
  });

  test("may be written by a later version, with more fields", () => {
    assert.equal(parseTraceContext(`01-${TRACE}-${SPAN}-01-more`)?.traceparent, `01-${TRACE}-${SPAN}-01-more`);
  });

  test("loses a state that is too long, and not its parent", () => {
    assert.deepEqual(parseTraceContext(PARENT, "a".repeat(513)), { traceparent: PARENT, tracestate: "" });
  });

  test("loses a state that no gRPC metadata can hold, and the tabs that may stand in one", () => {
    assert.deepEqual(parseTraceContext(PARENT, "a=\u00e9"), { traceparent: PARENT, tracestate: "" });
    assert.deepEqual(parseTraceContext(PARENT, "a=1\u0000"), { traceparent: PARENT, tracestate: "" });
    assert.deepEqual(parseTraceContext(PARENT, "a=1,\tb=2"), { traceparent: PARENT, tracestate: "a=1, b=2" });
  });

  for (const malformed of [
    "",
    "00",
    `ff-${TRACE}-${SPAN}-01`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}-1`,
    `01-${TRACE}-${SPAN}-01-${"x".repeat(600)}`,
    `01-${TRACE}-${SPAN}-01-\u00e9`,
    `${PARENT}, ${PARENT}`,
  ]) {
    test(`is not read from ${JSON.stringify(malformed.slice(0, 80))}`, () => assert.equal(parseTraceContext(malformed), undefined));
  }
});
