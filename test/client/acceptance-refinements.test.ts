/** CL-24: a refinement replaces what it refines when it passes, and nothing else does. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import type { StreamResponse, Task } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type AcceptanceBook, type AcceptanceRecord, judgedBy } from "../../src/client/index.ts";
import { acceptanceBed, brief, CONCLUDED, CUT, text, WHOLE, wordOf } from "./acceptance-bed.ts";

const accept = (book: AcceptanceBook, { id }: Task): Promise<AcceptanceRecord> => book.accept(id, { checks: [CONCLUDED] });

/** What a webhook is sent when a task is over. */
function noticeOf({ id, contextId, status }: Task): StreamResponse {
  const value = { $typeName: "lf.a2a.v1.TaskStatusUpdateEvent" as const, taskId: id, contextId, status };
  return { $typeName: "lf.a2a.v1.StreamResponse", payload: { case: "statusUpdate", value } };
}

suite("a refinement", { timeout: 120_000 }, () => {
  const bed = acceptanceBed();

  test("CL-24 is a new task in the same context; what it refines stays accepted until it passes, and is its predecessor then", async () => {
    const { book, client, task: deliver } = bed();
    const here = book();
    const first = await deliver({ chunks: WHOLE });
    const v1 = await accept(here, first);
    const bad = await deliver({ chunks: CUT }, first);
    const failed = await deliver({ chunks: WHOLE, end: "failed" }, first);
    const slow = await deliver({ chunks: WHOLE, end: "working" }, first);
    assert.equal((await accept(here, bad)).decision, "held");
    assert.equal((await accept(here, failed)).decision, "rejected");
    assert.equal((await accept(here, slow)).decision, "provisional");
    assert.deepEqual(await here.current(first.contextId), v1);
    const good = await deliver({ chunks: WHOLE }, first);
    const v2 = await accept(here, good);
    assert.deepEqual([v2.version, v2.predecessor, v2.referenceTaskIds, v2.work], [2, v1.id, [first.id], "report.md"]);
    assert.deepEqual(await here.current(first.contextId, "report.md"), v2);
    await client.cancelTask(slow.id);
  });

  test("CL-24 refines what its predecessors refine, accepted or not", async () => {
    const { book, task: deliver } = bed();
    const here = book();
    const first = await deliver({ chunks: WHOLE });
    const v1 = await accept(here, first);
    const bad = await deliver({ chunks: CUT }, first);
    await accept(here, bad);
    const third = await deliver({ chunks: WHOLE }, bad);
    assert.equal((await accept(here, third)).predecessor, v1.id);
  });

  test("of two that refine the same version one is accepted; the other is held, unless it is said to replace the winner", async () => {
    const { book, task: deliver } = bed();
    const here = book();
    const first = await deliver({ chunks: WHOLE });
    await accept(here, first);
    const [left, right] = [await deliver({ chunks: WHOLE }, first), await deliver({ chunks: WHOLE }, first)];
    const records = await Promise.all([accept(here, left), accept(here, right)]);
    const [won, lost] = records.toSorted((a, b) => a.decision.localeCompare(b.decision)) as [AcceptanceRecord, AcceptanceRecord];
    assert.deepEqual([won.decision, won.version], ["accepted", 2]);
    assert.equal(brief(lost), `held: report.md v2 of task ${won.taskId} stands, which this task does not refine`);
    const checks = [CONCLUDED];
    assert.equal(
      brief(await here.accept(lost.taskId, { checks, replaces: first.id })),
      `held: it is to replace ${first.id}, and report.md v2 of task ${won.taskId} stands`,
    );
    const v3 = await here.accept(lost.taskId, { checks, replaces: won.id });
    assert.deepEqual([v3.version, v3.predecessor], [3, won.id]);
    const other = await deliver({ chunks: WHOLE });
    assert.equal(
      brief(await here.accept(other.id, { checks, replaces: won.taskId })),
      `held: it is to replace ${won.taskId}, and nothing of report.md is accepted`,
    );
  });

  test("another task of the same context replaces nothing; it may be work of its own", async () => {
    const { book, client, task: deliver } = bed();
    const here = book();
    const first = await deliver({ chunks: WHOLE });
    const v1 = await accept(here, first);
    const other = (await client.send(wordOf(first), { contextId: first.contextId })) as Task;
    assert.match(brief(await accept(here, other)), /^held: report\.md v1 of task .* stands, which this task does not refine$/);
    const own = await here.accept(other.id, { checks: [CONCLUDED], work: "the other report" });
    assert.deepEqual([own.decision, own.version, own.work], ["accepted", 1, "the other report"]);
    assert.deepEqual(await here.current(first.contextId, "report.md"), v1);
    assert.deepEqual(await here.current(first.contextId, "the other report"), own);
  });

  test("goes on with the work that it refines also where artifacts have no names and other ids", async () => {
    const { book, task: deliver } = bed();
    const here = book();
    const first = await deliver({ chunks: WHOLE, artifactId: "a-1", name: "" });
    const second = await deliver({ chunks: WHOLE, artifactId: "a-2", name: "" }, first);
    const v1 = await accept(here, first);
    const v2 = await accept(here, second);
    assert.deepEqual([v1.work, v2.work, v2.predecessor], ["a-1", "a-1", v1.id]);
    const third = await deliver({ chunks: [text("x")], artifactId: "a-3", name: "summary.md" }, second);
    assert.equal((await here.accept(third.id, { checks: [judgedBy("ada", "fine")] })).work, "summary.md");
  });

  test("notices that are late, out of order or repeated leave the accepted record as it is", async () => {
    const { book, task: deliver } = bed();
    const held = await deliver({ chunks: CUT });
    const first = await deliver({ chunks: WHOLE }, held);
    const second = await deliver({ chunks: WHOLE }, first);
    const failed = await deliver({ chunks: WHOLE, end: "failed" }, first);
    const tasks = [held, first, second, failed];
    const notices = fc.array(fc.record({ task: fc.constantFrom(...tasks), pushed: fc.boolean() }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(notices, async (told) => {
        const here = book();
        await accept(here, held);
        await accept(here, first);
        const v2 = await accept(here, second);
        assert.equal(v2.version, 2);
        for (const { task, pushed } of told) await here.accept(pushed ? noticeOf(task) : task.id, { checks: [CONCLUDED] });
        assert.deepEqual(await here.current(first.contextId), v2);
        assert.equal((await here.list({ taskId: second.id })).length, 1);
        assert.ok((await here.list()).length <= 6);
      }),
      { numRuns: 30 },
    );
  });

  test("whatever order the tasks of a line are heard of in, what is accepted only gives way to what refines it", async () => {
    const { book, task: deliver } = bed();
    const line = [await deliver({ chunks: WHOLE })];
    for (let length = 1; length < 4; length += 1) line.push(await deliver({ chunks: WHOLE }, line.at(-1)));
    const order = fc.array(fc.nat({ max: line.length - 1 }), { minLength: 1, maxLength: 10 });
    await fc.assert(
      fc.asyncProperty(order, async (heard) => {
        const here = book();
        let stands = -1;
        for (const index of heard) {
          const record = await accept(here, line[index] as Task);
          const current = await here.current(line[0]?.contextId ?? "");
          const now = line.findIndex(({ id }) => id === current?.taskId);
          // A task refines the one before it, and those that it knows of through records.
          assert.ok(now >= stands, `${stands} gave way to ${now}`);
          assert.equal(record.decision === "accepted" && record.taskId === current?.taskId, now === index);
          stands = now;
        }
      }),
      { numRuns: 30 },
    );
  });
});
