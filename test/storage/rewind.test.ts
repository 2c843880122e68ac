/** Logs whose end Redis has lost: as a failover leaves them, planted. */
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Entry, Position } from "../../src/core/log-entry.ts";
import type { Remains, TailStep } from "../../src/core/storage.ts";
import { assertRefused, chunk, type Lab, LabTask, status } from "../../src/testing/contract/lab.ts";
import { type RedisServer, redisServer } from "../redis/redis-server.ts";
import { savepoint } from "../redis/savepoint.ts";
import { openLab, storedLog } from "./store-bed.ts";

let server: RedisServer;
before(async () => {
  server = await redisServer();
});
after(() => server[Symbol.asyncDispose]());
beforeEach(() => server.call("FLUSHALL"));

test("entries that were lost are written again as they were: offsets, marks, epochs, times and bytes, state, lists and pending cancel too", async () => {
  await using lab = await openLab(server.url);
  const task = await working(lab);
  const rewound = await savepoint(server);
  await task.append([chunk("lost")]);
  await task.command("cancel", { canceled: task.ready(TaskState.CANCELED) });
  await task.append([chunk("lost"), status(TaskState.INPUT_REQUIRED), chunk("lost")], { state: TaskState.INPUT_REQUIRED, consumed: 2 });
  const [meta, log, keys] = [await task.meta(), await storedLog(server, task.id), await server.call("DBSIZE")];
  await rewound.restore();
  assert.ok((await storedLog(server, task.id)).length < log.length);
  const remains = await remainsOf(task, log, TaskState.INPUT_REQUIRED);
  assert.equal(await lab.storage.heal(task.lease, { ...remains, cancelRequested: meta.cancelRequested }), "healed");
  assert.deepEqual((await storedLog(server, task.id)).map(plain), log.map(plain));
  assert.deepEqual(await task.meta(), meta);
  assert.equal(await server.call("DBSIZE"), keys);
  const listed = async (state: TaskState): Promise<number> =>
    (await lab.storage.list(meta.scope, { contextId: undefined, state, since: undefined }, undefined, 10)).total;
  assert.deepEqual([await listed(TaskState.INPUT_REQUIRED), await listed(TaskState.WORKING)], [1, 0]);
  // Its reply was lost: again.
  assert.equal(await lab.storage.heal(task.lease, { ...remains, cancelRequested: meta.cancelRequested }), "healed");
  assert.deepEqual((await storedLog(server, task.id)).map(plain), log.map(plain));
  await task.append([chunk("next")]);
});

test("a command whose sender has heard nothing, and which was given back by the owner, is the same command when it is repeated", async () => {
  await using lab = await openLab(server.url);
  const task = await working(lab);
  const rewound = await savepoint(server);
  const request = task.commandRequest("message");
  const reply = await lab.storage.command(request);
  const log = await storedLog(server, task.id);
  await rewound.restore();
  assert.equal(await lab.storage.heal(task.lease, await remainsOf(task, log)), "healed");
  assert.deepEqual(await lab.storage.command(request), reply);
  assert.deepEqual((await storedLog(server, task.id)).map(plain), log.map(plain));
});

test("where other entries stand in the place of the lost ones, or more is lost than remains, a heal changes nothing", async () => {
  await using lab = await openLab(server.url);
  const task = await working(lab);
  const rewound = await savepoint(server);
  await task.append([chunk("lost"), chunk("lost")]);
  const log = await storedLog(server, task.id);
  await rewound.restore();
  await diverges(lab, task, await remainsOf(task, log.slice(-1)));
  await task.look();
  await task.command("message");
  await diverges(lab, task, await remainsOf(task, log));
  await task.command("message");
  await diverges(lab, task, await remainsOf(task, log));
  await task.command("message");
  await diverges(lab, task, await remainsOf(task, log));
});

test("a reader that has all of it already notices nothing of a loss that was healed, and goes on", async () => {
  await using lab = await openLab(server.url);
  await using other = await openLab(server.url);
  const task = await working(lab);
  const rewound = await savepoint(server);
  const tails = [lab, other].map(({ storage }) => storage.tail(task.id, task.position, AbortSignal.timeout(20_000)));
  const lost = await task.append([chunk("lost"), chunk("lost")]);
  for (const tail of tails)
    assert.deepEqual(
      marks(await step(tail, 2)),
      lost.map(({ mark }) => mark),
    );
  const log = await storedLog(server, task.id);
  await rewound.restore();
  assert.equal(await lab.storage.heal(task.lease, await remainsOf(task, log)), "healed");
  const next = await task.append([chunk("next")]);
  for (const tail of tails)
    assert.deepEqual(
      marks(await step(tail, 1)),
      next.map(({ mark }) => mark),
    );
  for (const tail of tails) await tail.return?.();
});

test("a reader that looks while the end of the log is lost is told nothing of it where the owner gives it back at once", async () => {
  await using lab = await openLab(server.url);
  await using other = await openLab(server.url);
  const task = await working(lab);
  const rewound = await savepoint(server);
  await task.append([chunk("lost"), chunk("lost")]);
  const log = await storedLog(server, task.id);
  await rewound.restore();
  // They come back with the position of what is lost.
  const tails = [lab, other].map(({ storage }) => storage.tail(task.id, task.position, AbortSignal.timeout(20_000)));
  const waiting = tails.map((tail) => tail.next());
  assert.equal(await lab.storage.heal(task.lease, await remainsOf(task, log)), "healed");
  const next = await task.append([chunk("next")]);
  for (const { value } of await Promise.all(waiting)) {
    assert.deepEqual(value?.is === "entries" && marks(value.entries), marks(next));
  }
  for (const tail of tails) await tail.return?.();
});

test("a reader of entries that are lost and replaced is told so, and never goes on in the other history", async () => {
  await using lab = await openLab(server.url);
  await using other = await openLab(server.url);
  // Shorter than what was lost, as long, and longer; then the end of the log.
  for (const replaced of [1, 2, 3]) {
    for (const ends of [false, true]) {
      const task = await working(lab);
      const rewound = await savepoint(server);
      const tails = [lab, other].map(({ storage }) => storage.tail(task.id, task.position, AbortSignal.timeout(20_000)));
      await task.append([chunk("lost"), chunk("lost")]);
      for (const tail of tails) await step(tail, 2);
      const waiting = tails.map((tail) => tail.next());
      await rewound.restore();
      await task.look();
      for (let count = 0; count < replaced; count += 1) {
        const last = ends && count === replaced - 1;
        await task.append(last ? [status(TaskState.COMPLETED)] : [chunk("other")], last ? { state: TaskState.COMPLETED } : {});
      }
      const steps = await Promise.all(waiting);
      assert.deepEqual(
        steps.map(({ value }) => (value as TailStep | undefined)?.is),
        ["gone", "gone"],
        `${replaced} in the place of 2${ends ? ", the last of them the end" : ""}`,
      );
      for (const tail of tails) assert.equal((await tail.next()).done, true);
    }
  }
});

test("a reader of entries that are lost, and that nobody gives back, is told so when its connection is made again", async () => {
  await using lab = await openLab(server.url);
  const task = await working(lab);
  const rewound = await savepoint(server);
  const tail = lab.storage.tail(task.id, task.position, AbortSignal.timeout(20_000));
  await task.append([chunk("lost")]);
  await step(tail, 1);
  const waiting = tail.next();
  await rewound.restore();
  // A failover never leaves the connections of before.
  await server.call("CLIENT", "KILL", "TYPE", "pubsub");
  assert.deepEqual((await waiting).value, { is: "gone" });
});

test("positions of entries that are lost are gone for whoever asks: read, tail and checkpoint", async () => {
  await using lab = await openLab(server.url);
  const task = await working(lab);
  const rewound = await savepoint(server);
  const [lost] = await task.append([chunk("lost")]);
  await rewound.restore();
  const position = lost as Position;
  assert.deepEqual(await lab.storage.read(task.id, position), { is: "gone" });
  const first = await lab.storage.tail(task.id, position, AbortSignal.timeout(20_000)).next();
  assert.deepEqual(first.value, { is: "gone" });
  await task.look();
  await assertRefused(task, "STALE", () => lab.storage.checkpoint(task.id, task.lease, { position, bytes: new Uint8Array(1) }));
  await assertRefused(task, "STALE", () => task.append([chunk()], { after: position }));
  const [next] = await task.append([chunk("other")]);
  assert.equal(next?.offset, position.offset);
  assert.deepEqual(await lab.storage.read(task.id, position), { is: "gone" });
});

test("a task whose takeover is lost belongs to its owner of before; whoever took it heals nothing", async () => {
  await using lab = await openLab(server.url, { leaseMs: 50 });
  const task = await working(lab);
  const old = task.lease;
  const rewound = await savepoint(server);
  await lab.pass(100);
  while ((await lab.storage.sweep()).expired === 0) await lab.pass(10);
  const lease = await task.take();
  await task.append([chunk("lost")]);
  const log = await storedLog(server, task.id);
  await rewound.restore();
  const taken = new LabTask(lab.storage, task.id, task.position, lease, task.statusTime);
  const remains = await remainsOf(taken, log);
  await taken.look();
  await assertRefused(taken, "FENCED", () => lab.storage.heal(lease, remains));
  await assertRefused(taken, "FENCED", () => taken.append([chunk()]));
  assert.deepEqual(await lab.storage.renew([{ lease: old, consumed: 2 }]), [{ is: "held", end: taken.position }]);
  await taken.append([chunk()], { lease: old });
});

/** A task at work. */
async function working(lab: Lab): Promise<LabTask> {
  const task = await lab.owned();
  await task.append([status(TaskState.WORKING), chunk("kept")], { state: TaskState.WORKING, consumed: 2 });
  return task;
}

/** What an owner has that knew all of `log`. */
async function remainsOf(task: LabTask, log: readonly Entry[], state: TaskState = TaskState.WORKING): Promise<Remains> {
  return { entries: log.slice(-6), head: task.ready(state).head, consumed: 2, cancelRequested: 0 };
}

async function diverges(lab: Lab, task: LabTask, remains: Remains): Promise<void> {
  const all = await task.everything();
  assert.equal(await lab.storage.heal(task.lease, remains), "diverged");
  assert.deepEqual(await task.everything(), all);
}

function plain({ offset, mark, epoch, time, kind, bytes }: Entry): unknown {
  return { offset, mark, epoch, time, kind, bytes: Buffer.from(bytes).toString("base64") };
}

function marks(entries: readonly Entry[]): string[] {
  return entries.map(({ mark }) => mark);
}

/** The next so many entries of a tail. */
async function step(tail: AsyncIterator<TailStep>, count: number): Promise<Entry[]> {
  const entries: Entry[] = [];
  while (entries.length < count) {
    const { value, done } = await tail.next();
    assert.ok(done !== true && value.is === "entries");
    entries.push(...value.entries);
  }
  return entries;
}
