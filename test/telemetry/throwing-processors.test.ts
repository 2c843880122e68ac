/** What a program has set up for spans may break: calls, turns and webhooks go on without them. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { trace } from "@opentelemetry/api";
import { type SpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { collect, openBed, send, taskOf } from "../bindings/bed.ts";
import { callersTrace } from "./recorded.ts";

let broken: "start" | "end" = "start";
const processor: SpanProcessor = {
  onStart: () => fails("start"),
  onEnd: () => fails("end"),
  forceFlush: () => Promise.resolve(),
  shutdown: () => Promise.resolve(),
};
trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [processor] }));

function fails(what: typeof broken): void {
  if (what === broken) throw new Error(`a processor that fails at the ${what}`);
}

suite("a processor of spans that throws", () => {
  for (const what of ["start", "end"] as const) {
    test(`at the ${what} of each costs no call, no stream and no turn, over every binding`, async () => {
      broken = what;
      await using bed = await openBed();
      for (const caller of bed.callers) {
        for (const headers of [{}, callersTrace().headers]) {
          const task = taskOf(await caller.unary("SendMessage", send("complete"), { headers }));
          assert.equal((task["status"] as { state: string }).state, "TASK_STATE_COMPLETED", caller.binding);
          const stream = caller.stream("SendStreamingMessage", send("complete"), { headers });
          assert.equal((await collect(stream)).end, "clean", caller.binding);
        }
      }
      // Refused before its operation is known.
      const url = `http://127.0.0.1:${bed.server.ports.http}/jsonrpc`;
      const refused = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json", "a2a-version": "1.0" },
        body: "{",
      });
      assert.match(await refused.text(), /-32700/);
    });
  }
});
