/** The check of promise 7 finds what was planted for it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { StreamResponseSchema, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type Entry, formatPosition } from "../../src/core/log-entry.ts";
import { checkRun } from "./check-run.ts";
import { checkWebhook, type HookEnd } from "./check-webhooks.ts";
import { goodRun } from "./good-run.ts";

type Request = HookEnd["requests"][number];

const request = (entry: Entry, status: number | undefined = 200): Request => {
  const event = entry.kind === "event" ? entry.event : assert.fail();
  return { id: `t/${formatPosition(entry)}`, event, status, at: entry.time + 1 };
};

/** A webhook that had everything, and the log that it had it from. */
async function good(): Promise<{ readonly hook: HookEnd; readonly events: readonly Entry[]; readonly entries: readonly Entry[] }> {
  const { task } = await goodRun();
  const events = task.entries.filter(({ kind }) => kind === "event");
  const requests = events.map((entry) => request(entry));
  const hook: HookEnd = { id: "w", taskId: task.taskId, manner: "good", answers: true, registeredAt: undefined, requests };
  return { hook, events, entries: task.entries };
}

const kinds = (
  { hook, entries }: { hook: HookEnd; entries: readonly Entry[] },
  requests: readonly Request[],
  more: Partial<HookEnd> = {},
) => [...new Set(checkWebhook({ ...hook, ...more, requests }, entries).map(({ kind }) => kind))];

test("a webhook that had everything in order is found so, also where some came again, or failed first", async () => {
  const run = await good();
  const { events, hook, entries } = run;
  assert.deepEqual(checkWebhook(hook, entries), []);
  assert.deepEqual(
    kinds(
      run,
      events.flatMap((entry) => [request(entry, 503), request(entry, undefined), request(entry), request(entry)]),
    ),
    [],
  );
  assert.deepEqual(kinds(run, [...hook.requests, request(events[0] as Entry)]), [], "a late one of a replica that stood still");
});

test("a hole is found: at the beginning, in the middle, and where something was not acknowledged before the next one came", async () => {
  const run = await good();
  const { events, hook } = run;
  for (const at of [0, 3]) assert.deepEqual(kinds(run, hook.requests.toSpliced(at, 1)), ["lost"], `${at}`);
  const unanswered = events.map((entry, at) => request(entry, at === 2 ? 500 : 200));
  assert.deepEqual(kinds(run, unanswered), ["lost"]);
  assert.deepEqual(kinds(run, hook.requests.toSpliced(2, 2, hook.requests[3] as Request, hook.requests[2] as Request)), ["lost"]);
});

test("an end that a webhook never had is found, where it answers; one that never does is owed nothing more", async () => {
  const run = await good();
  const some = run.hook.requests.slice(0, -1);
  assert.deepEqual(kinds(run, some), ["lost"]);
  assert.deepEqual(kinds(run, []), ["lost"]);
  assert.deepEqual(kinds(run, some, { answers: false }), []);
});

test("a webhook that was registered later has all that came after, and may have a little more", async () => {
  const run = await good();
  const { hook, events } = run;
  const registeredAt = (events.at(-1)?.time ?? 0) + 1;
  assert.deepEqual(kinds(run, [], { registeredAt }), []);
  assert.deepEqual(kinds(run, hook.requests.slice(3), { registeredAt }), []);
  assert.deepEqual(kinds(run, hook.requests.slice(3, -1), { registeredAt }), ["lost"], "it began, and did not end");
  assert.deepEqual(kinds(run, [], { registeredAt: (events[0]?.time ?? 0) - 1 }), ["lost"]);
});

test("what is not in the log is found; a task in mid-stream stands for what was before it", async () => {
  const run = await good();
  const { hook, events } = run;
  const [first] = hook.requests as [Request];
  assert.deepEqual(kinds(run, [{ ...first, id: "t/1.00000000" }, ...hook.requests]), ["broken"]);
  const value = create(TaskSchema, { id: hook.taskId });
  const task = { ...request(events[3] as Entry), event: create(StreamResponseSchema, { payload: { case: "task", value } }) };
  assert.deepEqual(kinds(run, [first, task, ...hook.requests.slice(4)]), []);
});

test("a run judges its webhooks", async () => {
  const { run } = await goodRun();
  const { hook } = await good();
  const [task] = run.tasks;
  const { found } = checkRun({ ...run, hooks: [{ ...hook, taskId: task?.taskId ?? "", requests: [] }] });
  assert.deepEqual(
    found.map(({ kind }) => kind),
    ["lost"],
  );
});
