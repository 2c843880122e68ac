import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { context, createContextKey, INVALID_SPAN_CONTEXT, ROOT_CONTEXT, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { parentOf, placeOf, spanContextOf, within } from "../../src/server/telemetry/span-context.ts";

const KEY = createContextKey("of somebody else");
const PLACE = { traceparent: `00-${"a1".repeat(16)}-${"b2".repeat(8)}-01`, tracestate: "vendor=1" };

suite("the context of a span is one as any other", () => {
  before(() => context.setGlobalContextManager(new AsyncLocalStorageContextManager()));
  after(() => context.disable());

  test("the span is the active one within it, across awaits, and not after it", async () => {
    const span = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);
    await within(span, async () => {
      assert.equal(trace.getActiveSpan(), span);
      await new Promise((resolve) => setImmediate(resolve));
      assert.equal(trace.getActiveSpan(), span);
    });
    assert.equal(trace.getActiveSpan(), undefined);
  });

  test("what others have put into the context around it is there, and what they put into it", () => {
    const [outer, inner] = [trace.wrapSpanContext(INVALID_SPAN_CONTEXT), trace.wrapSpanContext(spanContextOf(PLACE))];
    context.with(trace.setSpan(ROOT_CONTEXT.setValue(KEY, 1), outer), () =>
      within(inner, () => {
        const active = context.active();
        assert.equal(active.getValue(KEY), 1);
        assert.equal(trace.getSpan(active), inner);
        assert.equal(active.setValue(KEY, 2).getValue(KEY), 2);
        assert.equal(trace.getSpan(active.setValue(KEY, 2)), inner);
        assert.equal(trace.getSpan(trace.deleteSpan(active)), undefined);
        assert.equal(trace.deleteSpan(active).getValue(KEY), 1);
        assert.equal(active.deleteValue(KEY).getValue(KEY), undefined);
      }),
    );
  });

  test("a place that was read is written as it was", () => {
    const parent = trace.getSpan(parentOf(PLACE));
    assert.ok(parent !== undefined);
    assert.deepEqual(placeOf(parent), PLACE);
    assert.equal(parent.spanContext().isRemote, true);
    assert.equal(parentOf(undefined), ROOT_CONTEXT);
  });
});
