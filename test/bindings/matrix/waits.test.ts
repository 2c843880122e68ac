/** How calls end that wait for a task, where it is not the task that ends them. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { ReplyRequest } from "../../../src/core/agent.ts";
import { TaskError } from "../../../src/core/errors.ts";
import { type Log, SILENT } from "../../../src/core/telemetry.ts";
import { collect, errorOf, everywhere, nextFrame, openBed, type Outcome, send, sharedBed } from "../bed.ts";
import type { Caller } from "../callers/caller.ts";
import { checkFailure } from "../failures.ts";
import { HookedStorage } from "../hooked-storage.ts";
import { ScenarioAgent } from "../scenario-agent.ts";

suite("a blocking send", { timeout: 60_000 }, () => {
  for (const [reason, error] of [
    ["STORE_UNAVAILABLE", new TaskError("STORE_UNAVAILABLE", "the store is away", { retryAfterMs: 1000 })],
    ["INTERNAL", new Error("a secret of the store")],
  ] as const) {
    test(`SV-18 that fails while its task goes on names the task, in the error and in a header: ${reason}`, async () => {
      const storage = new HookedStorage();
      const told: unknown[] = [];
      const log: Log = { ...SILENT, error: (facts) => void told.push(facts["error"]) };
      await using bed = await openBed({ storage, log });
      const waits = [];
      for (const caller of bed.callers) {
        const gate = bed.agent.gate();
        const failed = errorOf(caller.unary("SendMessage", send(`slow ${gate.name}`)));
        waits.push({ caller, failed, gate, turn: await gate.reached });
      }
      storage.breakTails(error);
      for (const { caller, failed, gate, turn } of waits) {
        const { failure, headers } = await failed;
        const { metadata } = checkFailure(caller, failure, reason);
        assert.deepEqual([metadata, headers.get("a2a-task-id")], [{ taskId: turn.taskId }, turn.taskId]);
        assert.ok(!JSON.stringify(failure).includes("secret"));
        assert.equal(turn.signal.aborted, false);
        gate.open();
      }
      assert.deepEqual(told, reason === "INTERNAL" ? waits.map(() => error) : []);
    });
  }
});

test("R-252 an error that nobody expected, in mid-stream, is told in the form of each binding and tells nothing", async () => {
  const storage = new HookedStorage();
  await using bed = await openBed({ storage });
  const open = [];
  for (const caller of bed.callers) {
    const gate = bed.agent.gate();
    const stream = caller.stream("SendStreamingMessage", send(`slow ${gate.name}`));
    await nextFrame(stream);
    await nextFrame(stream);
    open.push({ caller, stream, gate });
  }
  storage.breakTails(new Error("a secret of the store"));
  for (const { caller, stream, gate } of open) {
    const { frames, end } = await collect(stream);
    assert.deepEqual(frames, []);
    if (end === "clean") assert.fail("the stream ended cleanly");
    checkFailure(caller, end, "INTERNAL");
    assert.ok(!JSON.stringify(end).includes("secret"));
    gate.open();
  }
});

/** Tells when it is asked, and never answers. */
class Undecided extends ScenarioAgent {
  asked = Promise.withResolvers<AbortSignal>();

  override async reply({ signal }: ReplyRequest): Promise<undefined> {
    this.asked.resolve(signal);
    return new Promise(() => undefined);
  }
}

suite("a caller that leaves while the agent decides how to answer", { timeout: 60_000 }, () => {
  const agent = new Undecided();
  const bed = sharedBed({}, agent);

  const leave = async (caller: Caller): Promise<Outcome> => {
    const contextId = crypto.randomUUID();
    const request = send("complete", { message: { contextId } });
    for (const method of ["SendMessage", "SendStreamingMessage"]) {
      agent.asked = Promise.withResolvers();
      const leaving = new AbortController();
      const call = method === "SendMessage" ? caller.unary(method, request, leaving) : caller.stream(method, request, leaving).next();
      const signal = await agent.asked.promise;
      const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      leaving.abort();
      await Promise.all([assert.rejects(call), aborted]);
    }
    assert.equal((await caller.unary("ListTasks", { contextId })).message["totalSize"], undefined);
    return undefined;
  };
  const begun = { behindFront: "what has reached the upstream becomes a task, though its caller has left" };
  everywhere("ends the asking, and no task begins", bed, leave, begun);
});
