/** An owner that gives back what a store may have lost: nobody else may, and a log that is whole stays as it is. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Remains } from "../../core/storage.ts";
import { assertRefused, chunk, Lab, type LabTask, type OpenStore, status } from "./lab.ts";

const LEASE_MS = 100;
const EXPIRED_MS = 150;

/** Heals. */
export function healContract(open: OpenStore): void {
  test("a heal of a log that has lost nothing leaves everything as it is, however often it is asked for", async () => {
    await using lab = await Lab.open(open);
    const task = await working(lab);
    const remains = await remainsOf(task);
    const before = await task.everything();
    for (let count = 0; count < 2; count += 1) {
      assert.equal(await lab.storage.heal(task.lease, remains), "healed");
      assert.deepEqual(await task.everything(), before);
    }
  });

  test("a heal that comes after a command it does not know of keeps the command", async () => {
    await using lab = await Lab.open(open);
    const task = await working(lab);
    const remains = await remainsOf(task);
    await task.command("cancel", { canceled: task.ready(TaskState.CANCELED) });
    const before = await task.everything();
    assert.equal(await lab.storage.heal(task.lease, remains), "healed");
    assert.deepEqual(await task.everything(), before);
    const { cancelRequested, lastCommand } = await task.meta();
    assert.deepEqual({ cancelRequested, lastCommand }, { cancelRequested: task.position.offset, lastCommand: task.position.offset });
  });

  test("only the owner heals: an old lease is FENCED, on a log that has ended nobody is let in", async () => {
    await using lab = await Lab.open(open, { leaseMs: LEASE_MS });
    const task = await working(lab);
    const old = task.lease;
    const remains = await remainsOf(task);
    await lab.pass(EXPIRED_MS);
    await lab.storage.sweep();
    await assertRefused(task, "FENCED", () => lab.storage.heal(old, remains));
    await task.take();
    await assertRefused(task, "FENCED", () => lab.storage.heal(old, remains));
    await task.append([status(TaskState.COMPLETED)], { state: TaskState.COMPLETED });
    await assertRefused(task, ["FENCED", "SEALED"], () => lab.storage.heal(task.lease, remains));
  });
}

/** A task at work, with events that change no status among its last ones. */
async function working(lab: Lab): Promise<LabTask> {
  const task = await lab.owned();
  await task.append([status(TaskState.WORKING), chunk(), chunk()], { state: TaskState.WORKING, consumed: 2 });
  return task;
}

/** What the owner has of it. */
async function remainsOf(task: LabTask): Promise<Remains> {
  const { head } = task.ready(TaskState.WORKING);
  return { entries: (await task.entries()).slice(1), head, consumed: 2, cancelRequested: 0 };
}
