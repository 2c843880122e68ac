/** An owner that was paused past its lease and goes on as if nothing had happened. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { isRefused, RefusedError } from "../../src/core/errors.ts";
import type { Entry } from "../../src/core/log-entry.ts";
import type { Lease, Storage } from "../../src/core/storage.ts";
import { chunk, type Lab, LabTask, request, status } from "../../src/testing/contract/lab.ts";
import { redisServer } from "../redis/redis-server.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";
import { openLab, storedLog } from "./store-bed.ts";

const LEASE_MS = 60;
/** What a paused owner has sent arrives this much later: another one has long begun by then. */
const PAUSED_MS = 500;
const ZOMBIES = 100;
const TASKS = 25;

test("100 zombies, paused past their leases with writes in flight, get nothing into the log after the next owner's first word", async (t) => {
  await using server = await redisServer();
  await using proxy = await TcpProxy.open(server);
  await using paused = await openLab(proxy.url, { leaseMs: LEASE_MS, commandTimeoutMs: 10_000 });
  await using other = await openLab(server.url, { leaseMs: LEASE_MS });
  let zombies = 0;
  let fenced = 0;
  // On a machine that is too busy the next owner may come later than what was in flight: that is no zombie, and not counted.
  for (let round = 0; zombies < ZOMBIES && round < 20; round += 1) {
    const tasks = await Promise.all(Array.from({ length: TASKS }, () => begun(paused)));
    const logs = await Promise.all(tasks.map((task) => storedLog(server, task.id)));
    proxy.delay(PAUSED_MS);
    const inFlight = tasks.map(async (task, index) => everyWrite(paused, task, logs[index] ?? []));
    const taken = await takeOver(other, tasks);
    const first = await Promise.all(taken.map((task) => task.append([chunk("next")])));
    const arrived = Promise.all(inFlight);
    // The next owners go on while it arrives.
    const second = await Promise.all(taken.map((task) => task.append([chunk("next")])));
    const outcomes = await arrived;
    const third = await Promise.all(taken.map(end));
    proxy.delay(0);
    for (const [index, task] of tasks.entries()) {
      const log = await storedLog(server, task.id);
      inOrder(log);
      const { refused, stored } = outcomes[index] as Outcome;
      assert.deepEqual(
        stored.filter((mark) => !log.some((entry) => entry.mark === mark)),
        [],
        "what was said to be stored is",
      );
      if (stored.length > 0) continue;
      zombies += 1;
      fenced += refused;
      const next = [first, second, third].flatMap((appended) => appended[index] as readonly Entry[]);
      assert.deepEqual(
        log.slice(3).map(({ mark }) => mark),
        next.map(({ mark }) => mark),
        "the log goes on with what the next owner wrote, and nothing else",
      );
      const { epoch, attempts, state } = await (taken[index] as LabTask).meta();
      assert.deepEqual({ epoch, attempts, state }, { epoch: 2, attempts: 2, state: TaskState.COMPLETED });
    }
  }
  t.diagnostic(`${zombies} zombies, ${fenced} writes fenced`);
  assert.ok(zombies >= ZOMBIES);
});

test("whenever another owner comes between two appends, what the old one was told is stored, what it was refused is not, and epochs do not fall", async (t) => {
  await using server = await redisServer();
  await using old = await openLab(server.url, { leaseMs: LEASE_MS });
  await using other = await openLab(server.url, { leaseMs: LEASE_MS });
  const tasks = await Promise.all(Array.from({ length: 40 }, () => begun(old)));
  const writing = tasks.map((task) => appendUntilFenced(task));
  const next = await takeOver(other, tasks);
  await Promise.all(next.map((task) => task.append([chunk("next")])));
  const written = await Promise.all(writing);
  let appended = 0;
  for (const [index, task] of tasks.entries()) {
    const log = await storedLog(server, task.id);
    inOrder(log);
    const marks = log.filter(({ epoch }) => epoch === 1).map(({ mark }) => mark);
    assert.deepEqual(marks.slice(3), written[index], "told and stored are the same");
    assert.equal(log.at(-1)?.epoch, 2);
    appended += marks.length;
  }
  t.diagnostic(`${appended} appends before the leases went over`);
});

/** A task at work, owned through `lab`. */
async function begun(lab: Lab): Promise<LabTask> {
  const task = await lab.owned();
  await task.append([status(TaskState.WORKING)], { state: TaskState.WORKING, consumed: 2 });
  return task;
}

/** The last word, so that no later round finds the lease run out again. */
function end(task: LabTask): Promise<readonly Entry[]> {
  return task.append([status(TaskState.COMPLETED)], { state: TaskState.COMPLETED });
}

/** Lets the leases run out, and takes every task as another replica. In the order of `tasks`. */
async function takeOver(lab: Lab, tasks: readonly LabTask[]): Promise<LabTask[]> {
  const taken = new Map<string, LabTask>();
  while (taken.size < tasks.length) {
    await lab.storage.sweep();
    for (const { lease, meta } of await lab.storage.take(request("r2"), tasks.length)) {
      if (tasks.some(({ id }) => id === meta.id))
        taken.set(meta.id, new LabTask(lab.storage, meta.id, meta.position, lease, meta.statusTime));
    }
  }
  return tasks.map(({ id }) => taken.get(id) as LabTask);
}

interface Outcome {
  readonly refused: number;
  /** Marks of entries that were said to be stored. */
  readonly stored: readonly string[];
}

/** All that an owner may have in flight when it is paused. */
async function everyWrite({ storage }: Lab, task: LabTask, entries: readonly Entry[]): Promise<Outcome> {
  const { lease } = task;
  const written = [chunk("late"), status(TaskState.COMPLETED), status(TaskState.INPUT_REQUIRED)];
  const states = [undefined, TaskState.COMPLETED, TaskState.INPUT_REQUIRED];
  const remains = { entries, head: task.ready(TaskState.WORKING).head, consumed: 2, cancelRequested: 0 };
  const appends = written.map((entry, at) => storage.append(lease, task.batch([entry], stateIn(states[at]))));
  const others = [storage.heal(lease, remains), storage.release(lease, "ready", 2), renewed(storage, lease)];
  const outcomes = await Promise.allSettled([...appends, ...others]);
  const stored = written.filter((_, at) => outcomes[at]?.status === "fulfilled").map(({ mark }) => mark);
  const refusals = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason as unknown] : []));
  for (const refusal of refusals) {
    // Another reason than the lease only where something was in time.
    if (!(refusal instanceof RefusedError) || (refusal.refusal !== "FENCED" && stored.length === 0)) throw refusal;
  }
  return { refused: refusals.length, stored };
}

async function renewed(storage: Storage, lease: Lease): Promise<void> {
  const [reply] = await storage.renew([{ lease, consumed: 2 }]);
  if (reply?.is === "fenced") throw new RefusedError("FENCED");
}

function stateIn(state: TaskState | undefined): { state?: TaskState } {
  return state === undefined ? {} : { state };
}

/** Appends without pause; answers the marks of what was said to be stored. */
async function appendUntilFenced(task: LabTask): Promise<string[]> {
  const marks: string[] = [];
  for (;;) {
    const entry = chunk("old");
    try {
      const [appended] = await task.append([entry]);
      marks.push(appended?.mark ?? "");
    } catch (error) {
      if (isRefused(error, "FENCED")) return marks;
      // The next owner has written already: a zombie that reads before it writes.
      if (!isRefused(error, "STALE")) throw error;
      await task.look();
    }
  }
}

/** Offsets without a gap, epochs that never fall. */
function inOrder(log: readonly Entry[]): void {
  assert.deepEqual(
    log.map(({ offset }) => offset),
    log.map((_, at) => at + 1),
  );
  const epochs = log.map(({ epoch }) => epoch);
  assert.deepEqual(
    epochs,
    epochs.toSorted((a, b) => a - b),
  );
}
