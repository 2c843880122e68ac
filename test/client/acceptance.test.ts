/** What an acceptance comes to: the rules, against a real server. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { suite, test } from "node:test";
import { AcceptanceError, judgedBy } from "../../src/client/index.ts";
import { acceptanceBed, brief, CONCLUDED, CUT, data, text, textOf, WHOLE } from "./acceptance-bed.ts";

const sha256 = (bytes: string): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

suite("an acceptance", { timeout: 120_000 }, () => {
  const bed = acceptanceBed();

  test("has every field of the record: task and artifact, content, observation, criteria, checks, decision", async () => {
    const { client, book, task: deliver, server } = bed();
    const task = await deliver({ chunks: WHOLE });
    const { id, at, observed, checks, ...rest } = await book().accept(task.id, {
      checks: [
        CONCLUDED,
        judgedBy("grace", "it reads well"),
        { criterion: "short", by: "wc", judge: () => ({ passed: true, output: "3 lines" }) },
      ],
    });
    assert.match(id, /^[0-9a-f-]{36}$/);
    const { binding, url } = client.endpoint ?? assert.fail();
    assert.ok(url.includes(String(server.ports.grpc)) || url.includes(String(server.ports.http)));
    const whole = textOf(WHOLE);
    assert.deepEqual(rest, {
      format: 1,
      by: "ada",
      decision: "accepted",
      reason: "it is complete, and every criterion is met",
      version: 1,
      contextId: task.contextId,
      taskId: task.id,
      artifactId: "report",
      work: "report.md",
      referenceTaskIds: [],
      agent: { name: "Report writer", binding, url, tenant: "", protocolVersion: "1.0" },
      content: { digest: sha256(whole), bytes: whole.length, complete: true, kept: false, files: [] },
      criteria: ["it has a conclusion", "it reads well", "short"],
      gaps: [],
    });
    assert.deepEqual([observed?.by, observed?.state], ["get-task", "TASK_STATE_COMPLETED"]);
    assert.deepEqual(
      checks.map(({ criterion, passed, by, output }) => ({ criterion, passed, by, output })),
      [
        { criterion: "it has a conclusion", passed: true, by: "ada", output: "" },
        { criterion: "it reads well", passed: true, by: "grace", output: "" },
        { criterion: "short", passed: true, by: "wc", output: "3 lines" },
      ],
    );
    for (const time of [at, observed?.at, ...checks.map((check) => check.at)]) assert.equal(new Date(time ?? "").toISOString(), time);
  });

  test("is held where a check does not pass, where it throws, and where a criterion has none", async () => {
    const { book, task: deliver } = bed();
    const { id } = await deliver({ chunks: CUT });
    const throws = {
      criterion: "it can be read",
      judge: (): boolean => {
        throw new Error("no reader");
      },
    };
    const held = await book().accept(id, { checks: [CONCLUDED, throws, judgedBy("ada", "it is signed")] });
    assert.equal(brief(held), "held: not met: it has a conclusion; it can be read");
    assert.deepEqual(
      held.checks.map(({ passed, output }) => [passed, output]),
      [
        [false, ""],
        [false, "the check failed: no reader"],
        [true, ""],
      ],
    );
    const open = await book().accept(id, { checks: [judgedBy("ada", "it is signed")], criteria: ["it is true", "it is signed"] });
    assert.equal(brief(open), "held: not checked: it is true");
    assert.deepEqual(open.criteria, ["it is true", "it is signed"]);
  });

  test("CL-24 is never given to a task that failed, was canceled or rejected, whatever its checks would say", async () => {
    const { book, client, task: deliver } = bed();
    const canceled = await deliver({ chunks: WHOLE, end: "working" });
    await client.cancelTask(canceled.id);
    const ended = [
      [await deliver({ chunks: WHOLE, end: "failed" }), "FAILED"],
      [await deliver({ chunks: WHOLE, end: "rejected" }), "REJECTED"],
      [canceled, "CANCELED"],
    ] as const;
    for (const [{ id, contextId }, state] of ended) {
      const here = book();
      assert.equal(brief(await here.accept(id, { checks: [CONCLUDED] })), `rejected: the task ended ${state}: that is no delivery`);
      assert.equal(await here.current(contextId), undefined);
    }
  });

  test("is provisional while the task is not over, with all its chunks there and its checks satisfied, and is given when it is", async () => {
    const { book, client, task: deliver } = bed();
    const here = book();
    const working = await deliver({ chunks: WHOLE, end: "working" });
    const early = await here.accept(working.id, { checks: [CONCLUDED] });
    assert.equal(brief(early), "provisional: the task is WORKING: what it has brought may still change");
    assert.deepEqual([early.content?.complete, early.checks, early.version], [false, [], undefined]);
    const asked = await deliver({ chunks: WHOLE, end: "input" });
    assert.equal((await here.accept(asked.id, { checks: [CONCLUDED] })).decision, "provisional");
    await client.send("goes on", { taskId: asked.id });
    assert.equal((await here.accept(asked.id, { checks: [CONCLUDED] })).decision, "accepted");
    assert.deepEqual(
      (await here.list({ taskId: asked.id })).map(({ decision }) => decision),
      ["provisional", "accepted"],
    );
    await client.cancelTask(working.id);
  });

  test("names the content by a digest that does not depend on chunks or on the order of keys", async () => {
    const { book, task: deliver } = bed();
    const digestOf = async (chunks: Parameters<typeof deliver>[0]["chunks"]): Promise<unknown> => {
      const { id } = await deliver({ chunks: chunks ?? [] });
      return (await book().accept(id, { checks: [judgedBy("ada", "fine")] })).content;
    };
    assert.deepEqual(await digestOf([text("one two")]), await digestOf([text("one "), text("two")]));
    const sorted = await digestOf([data({ a: 1, b: [true, null] })]);
    assert.deepEqual(await digestOf([data({ b: [true, null], a: 1 })]), sorted);
    assert.deepEqual(sorted, { digest: sha256('{"a":1,"b":[true,null]}\n'), bytes: 24, complete: true, kept: false, files: [] });
    assert.deepEqual(await digestOf([{ content: { case: "raw", value: Buffer.from("ab") } }]), await digestOf([text("ab")]));
  });

  test("keeps the bytes where it is asked to", async () => {
    const { book, task: deliver } = bed();
    const { id } = await deliver({ chunks: [text("kept")] });
    const here = book({ keep: true });
    const record = await here.accept(id, { checks: [judgedBy("ada", "fine")] });
    assert.equal(record.content?.kept, true);
    assert.equal(Buffer.from((await here.content(record)) ?? []).toString(), "kept");
    const there = book();
    assert.equal(await there.content(await there.accept(id, { checks: [judgedBy("ada", "fine")] })), undefined);
  });

  test("needs to know which artifact, and what the task has", async () => {
    const { book, task: deliver } = bed();
    const here = book();
    const checks = [judgedBy("ada", "fine")];
    const two = await deliver({ chunks: WHOLE, appendix: "tables" });
    await assert.rejects(here.accept(two.id, { checks }), {
      name: "AcceptanceError",
      field: "artifactId",
      message: "artifactId: the task has several, say which: report, appendix",
    });
    assert.equal((await here.accept(two.id, { checks, artifactId: "appendix" })).decision, "accepted");
    assert.equal((await here.accept(two.id, { checks, artifactId: "report" })).version, 1);
    await assert.rejects(here.current(two.contextId), { message: "work: the context has several, say which: appendix.md, report.md" });
    assert.equal((await here.current(two.contextId, "appendix.md"))?.artifactId, "appendix");
    const none = await here.accept((await deliver({})).id, { checks, owner: "grace" });
    assert.equal(brief(none), "held: it is not complete: the task has no artifact");
    assert.deepEqual(none.gaps, [{ what: "the task has no artifact", owner: "grace" }]);
    assert.equal(
      brief(await here.accept(two.id, { checks, artifactId: "index" })),
      "held: it is not complete: the task has no artifact index",
    );
  });

  test("is refused without anything to judge by, without a word on who decides, without a reason for a hold", async () => {
    const { book } = bed();
    const wrong = (field: string) => (error: unknown) => error instanceof AcceptanceError && error.field === field;
    await assert.rejects(book().accept("x", { checks: [] }), wrong("checks"));
    await assert.rejects(book().accept("x", { checks: [judgedBy("ada", " ")] }), wrong("criteria"));
    await assert.rejects(book().accept("", { checks: [CONCLUDED] }), wrong("subject"));
    await assert.rejects(book().hold("x", { reason: "" }), wrong("reason"));
    assert.throws(() => book({ by: "" }), wrong("by"));
  });

  test("ends with its signal's reason, and nothing is recorded", async () => {
    const { book, task: deliver } = bed();
    const { id } = await deliver({ chunks: WHOLE });
    const here = book();
    const leave = new AbortController();
    const check = {
      criterion: "slow",
      judge: async (): Promise<boolean> => {
        leave.abort(new Error("enough"));
        return true;
      },
    };
    await assert.rejects(here.accept(id, { checks: [check], signal: leave.signal }), /^Error: enough$/);
    assert.deepEqual(await here.list(), []);
  });
});

suite("a hold and a rejection", { timeout: 120_000 }, () => {
  const bed = acceptanceBed();

  test("say why, what could not be observed, and who is to see to it", async () => {
    const { book, task: deliver } = bed();
    const { id } = await deliver({ chunks: WHOLE });
    const here = book();
    const held = await here.hold(id, { reason: "the figures are not in", gap: "the figures of May", owner: "grace" });
    assert.equal(brief(held), "held: the figures are not in");
    assert.deepEqual(held.gaps, [{ what: "the figures of May", owner: "grace" }]);
    assert.deepEqual([held.content?.complete, held.criteria, held.observed?.state], [true, [], "TASK_STATE_COMPLETED"]);
    assert.equal(brief(await here.reject(id, { reason: "out of date" })), "rejected: out of date");
  });

  test("a rejection stands against further notices until it is held again", async () => {
    const { book, task: deliver } = bed();
    const { id } = await deliver({ chunks: WHOLE });
    const here = book();
    const rejected = await here.reject(id, { reason: "invented" });
    assert.deepEqual(await here.accept(id, { checks: [CONCLUDED] }), rejected);
    await here.hold(id, { reason: "it was not, after all" });
    assert.equal((await here.accept(id, { checks: [CONCLUDED] })).decision, "accepted");
  });

  test("an accepted record that is withdrawn gives way to the one it replaced", async () => {
    const { book, task: deliver } = bed();
    const here = book();
    const first = await deliver({ chunks: WHOLE });
    const second = await deliver({ chunks: WHOLE }, first);
    const v1 = await here.accept(first.id, { checks: [CONCLUDED] });
    const v2 = await here.accept(second.id, { checks: [CONCLUDED] });
    assert.equal(v2.predecessor, v1.id);
    await here.reject(second.id, { reason: "wrong figures" });
    assert.deepEqual(await here.current(first.contextId), v1);
    const third = await deliver({ chunks: WHOLE }, second);
    const v3 = await here.accept(third.id, { checks: [CONCLUDED] });
    assert.deepEqual([v3.version, v3.predecessor], [3, v1.id]);
  });

  test("the same said again is not said twice; something else is", async () => {
    const { book, task: deliver } = bed();
    const { id } = await deliver({ chunks: CUT });
    const here = book();
    const first = await here.accept(id, { checks: [CONCLUDED] });
    assert.deepEqual(await here.accept(id, { checks: [CONCLUDED] }), first);
    await here.hold(id, { reason: "wait" });
    await here.hold(id, { reason: "wait" });
    await here.hold(id, { reason: "wait longer" });
    assert.deepEqual(
      (await here.list()).map(({ reason }) => reason),
      ["not met: it has a conclusion", "wait", "wait longer"],
    );
  });
});
