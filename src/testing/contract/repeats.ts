/** Sends that come again: dedupe rows, judged by mode and window. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import type { RepeatKey } from "../../core/storage.ts";
import { Lab, type OpenStore, SCOPE, status } from "./lab.ts";

const WINDOW_MS = 200;
const window = (key: string, taskId?: string): RepeatKey => ({ key, taskId, mode: "window", windowMs: WINDOW_MS });
const running = (key: string): RepeatKey => ({ key, taskId: undefined, mode: "running", windowMs: WINDOW_MS });

/** Repeated sends. */
export function repeatContract(open: OpenStore): void {
  test("window: a second create of the same key is answered with the first task, and nothing of it appears", async () => {
    await using lab = await Lab.open(open);
    const first = await lab.owned({ repeat: window("k") });
    assert.deepEqual(await lab.storage.findRepeat(window("k")), { taskId: first.id, offset: 2 });
    const second = lab.creation({ repeat: window("k") });
    assert.deepEqual(await lab.storage.create(second), { is: "repeat", repeat: { taskId: first.id, offset: 2 } });
    assert.equal(await lab.storage.meta(second.id), undefined);
    assert.deepEqual(await lab.takeAll(), []);
    assert.equal((await lab.storage.list(SCOPE, { contextId: undefined, state: undefined, since: undefined }, undefined, 10)).total, 1);
    assert.equal(await lab.storage.findRepeat(window("other")), undefined);
  });

  test("window: at rest or running, a repeat within the window joins; after it the next task is the first of its kind", async () => {
    await using lab = await Lab.open(open);
    const first = await lab.owned({ repeat: window("k") });
    await first.append([status(TaskState.COMPLETED)], { state: TaskState.COMPLETED, consumed: 2 });
    assert.equal((await lab.storage.findRepeat(window("k")))?.taskId, first.id);
    await lab.pass(WINDOW_MS + 50);
    assert.equal(await lab.storage.findRepeat(window("k")), undefined);
    const second = await lab.owned({ repeat: window("k") });
    assert.notEqual(second.id, first.id);
    assert.equal((await lab.storage.findRepeat(window("k")))?.taskId, second.id);
  });

  test("running: a repeat joins a task that is not at rest, whatever the window; one at rest is not joined", async () => {
    await using lab = await Lab.open(open);
    const first = await lab.owned({ repeat: running("k") });
    await lab.pass(WINDOW_MS + 50);
    assert.equal((await lab.storage.findRepeat(running("k")))?.taskId, first.id);
    await first.append([status(TaskState.INPUT_REQUIRED)], { state: TaskState.INPUT_REQUIRED, consumed: 2 });
    assert.equal(await lab.storage.findRepeat(running("k")), undefined);
    const second = await lab.owned({ repeat: running("k") });
    await second.append([status(TaskState.FAILED)], { state: TaskState.FAILED, consumed: 2 });
    assert.equal(await lab.storage.findRepeat(running("k")), undefined);
    const third = await lab.owned({ repeat: running("k") });
    assert.equal((await lab.storage.findRepeat(running("k")))?.taskId, third.id);
  });

  test("SV-14 two creates of one key at the same time make one task", async () => {
    await using lab = await Lab.open(open);
    const creations = Array.from({ length: 6 }, () => lab.creation({ repeat: window("k") }));
    const replies = await Promise.all(creations.map((creation) => lab.storage.create(creation)));
    assert.equal(replies.filter(({ is }) => is === "created").length, 1);
    assert.equal((await lab.takeAll()).length, 1);
  });

  test("a repeated follow-up is answered with the first one's place and adds nothing", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.interrupted();
    const { offset } = await task.followUp({ repeat: window("f", task.id) });
    const again = task.commandRequest("message", { repeat: window("f", task.id) });
    assert.deepEqual(await lab.storage.command(again), { is: "repeat", repeat: { taskId: task.id, offset } });
    assert.deepEqual(await lab.storage.findRepeat(window("f", task.id)), { taskId: task.id, offset });
    assert.equal((await task.meta()).position.offset, offset);
  });

  test("a repeat is told before anything is refused: the task may have ended since", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    const { offset } = await task.command("message", { repeat: window("f", task.id) });
    await task.append([status(TaskState.COMPLETED)], { state: TaskState.COMPLETED, consumed: offset });
    const again = task.commandRequest("message", { repeat: window("f", task.id) });
    assert.deepEqual(await lab.storage.command(again), { is: "repeat", repeat: { taskId: task.id, offset } });
  });

  test("a row lives as long as its task", async () => {
    await using lab = await Lab.open(open, { retentionMs: 50 });
    const week: RepeatKey = { key: "k", taskId: undefined, mode: "window", windowMs: 604_800_000 };
    const task = await lab.owned({ repeat: week });
    await task.append([status(TaskState.COMPLETED)], { state: TaskState.COMPLETED, consumed: 2 });
    assert.equal((await lab.storage.findRepeat(week))?.taskId, task.id);
    await lab.pass(100);
    assert.equal((await lab.storage.sweep()).removed, 1);
    assert.equal(await lab.storage.findRepeat(week), undefined);
    const next = await lab.owned({ repeat: week });
    assert.equal((await lab.storage.findRepeat(week))?.taskId, next.id);
  });
}
