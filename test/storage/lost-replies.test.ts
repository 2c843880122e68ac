/** Writes whose replies were lost: carried out, retried, and there exactly once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { isAway } from "../../src/core/errors.ts";
import { newMark } from "../../src/core/log-entry.ts";
import type { RepeatKey, Taken } from "../../src/core/storage.ts";
import { SCRIPTS } from "../../src/storage/redis/scripts.ts";
import { chunk, type Lab, request, SCOPE, status } from "../../src/testing/contract/lab.ts";
import { untilAnswered } from "../../src/core/retrying.ts";
import { type RedisServer, redisServer } from "../redis/redis-server.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";
import { until } from "../redis/until.ts";
import { allKeys, keysOf, openLab, storedLog } from "./store-bed.ts";

const REPETITIONS = 1000;
/** So many are in flight at once when their connection is lost. */
const TOGETHER = 250;
const WITHIN_MS = 20_000;

/** One Redis, one store before which replies get lost. */
interface Bed extends AsyncDisposable {
  readonly server: RedisServer;
  readonly proxy: TcpProxy;
  readonly lab: Lab;
}

async function openBed(): Promise<Bed> {
  await using opened = new AsyncDisposableStack();
  const server = opened.use(await redisServer());
  const proxy = opened.use(await TcpProxy.open(server));
  // The replies are held for as long as Redis needs to carry all out: no time limit of the store's may end that.
  const lab = opened.use(await openLab(proxy.url, { commandTimeoutMs: 60_000 }));
  // Redis knows the scripts from now on: to one that it does not know its reply says so, and would be held too.
  for (const { text } of Object.values(SCRIPTS)) await server.call("SCRIPT", "LOAD", text);
  const owned = opened.move();
  return { server, proxy, lab, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Runs all steps at once; when `done` says that Redis has carried out every one of them, all replies are lost. Answers what the retries were told. */
async function loseReplies<T>({ proxy }: Bed, steps: readonly (() => Promise<T>)[], done: () => Promise<boolean>): Promise<T[]> {
  let given = false;
  proxy.pauseReplies();
  const answers = Promise.all(steps.map((step) => untilAnswered(step, () => given)));
  answers.catch(() => undefined);
  try {
    await until("every step is carried out", WITHIN_MS, done);
  } catch (error) {
    given = true;
    throw error;
  } finally {
    proxy.cut();
    proxy.resumeReplies();
  }
  return answers;
}

/** 1,000 repetitions, so many at a time. */
async function rounds(round: (index: number) => Promise<void>): Promise<void> {
  for (let index = 0; index < REPETITIONS / TOGETHER; index += 1) await round(index);
}

/** So many of something. */
function many<T>(make: (index: number) => T): T[] {
  return Array.from({ length: TOGETHER }, (_, index) => make(index));
}

/** Each of these tasks has so many entries in Redis, or more. */
async function allHave({ server }: Bed, ids: readonly string[], entries: number): Promise<boolean> {
  const lengths = await Promise.all(ids.map((id) => server.call("XLEN", keysOf(id).log(id))));
  return lengths.every((length) => Number(length) >= entries);
}

/** Every key of the batch stands at its place in the log, once, and nothing else does. */
async function assertLog({ server }: Bed, id: string, marks: readonly string[]): Promise<void> {
  const log = await storedLog(server, id);
  assert.deepEqual(
    log.map(({ offset, mark }) => `${offset}.${mark}`),
    marks.map((mark, index) => `${index + 1}.${mark}`),
  );
}

function repeatKey(): RepeatKey {
  return { key: newMark() + newMark(), taskId: undefined, mode: "window", windowMs: 60_000 };
}

test("1,000 creates whose reply was lost are retried and made their tasks exactly once, with the lease they asked for", async () => {
  await using bed = await openBed();
  const { storage } = bed.lab;
  await rounds(async (round) => {
    const creations = many((index) => bed.lab.creation({ lease: index % 2 === 0 ? request() : undefined, repeat: repeatKey() }));
    const ids = creations.map(({ id }) => id);
    const replies = await loseReplies(
      bed,
      creations.map((creation) => () => storage.create(creation)),
      () => allHave(bed, ids, 2),
    );
    for (const [index, reply] of replies.entries()) {
      const creation = creations[index] ?? assert.fail();
      assert.ok(reply.is === "created");
      assert.deepEqual(reply.lease, creation.lease && { taskId: creation.id, epoch: 1, token: creation.lease.token });
      const marks = creation.entries.map(({ mark }) => mark);
      assert.deepEqual(
        reply.entries.map(({ mark }) => mark),
        marks,
      );
      await assertLog(bed, creation.id, marks);
    }
    const { total } = await storage.list(SCOPE, { contextId: undefined, state: undefined, since: undefined }, undefined, 1);
    assert.equal(total, (round + 1) * TOGETHER);
    // The caller has heard nothing and sends again, with other ids.
    const again = await Promise.all(
      creations.map(({ repeat }) => storage.create(bed.lab.creation(repeat === undefined ? {} : { repeat }))),
    );
    assert.deepEqual(
      again.map((reply) => reply.is === "repeat" && reply.repeat.taskId),
      ids,
    );
    const taken = await storage.take(request(), REPETITIONS);
    assert.equal(taken.length, TOGETHER / 2, "those without a lease wait, once each");
  });
});

test("1,000 appends whose reply was lost are retried and stand in their logs exactly once, where the retry says", async () => {
  await using bed = await openBed();
  const { storage } = bed.lab;
  const tasks = await Promise.all(many(() => bed.lab.owned()));
  const ids = tasks.map(({ id }) => id);
  const marks = await Promise.all(tasks.map(async (task) => (await task.entries()).map(({ mark }) => mark)));
  await rounds(async (round) => {
    const last = round === REPETITIONS / TOGETHER - 1;
    const state = last ? TaskState.COMPLETED : TaskState.WORKING;
    const batches = tasks.map((task) => task.batch([chunk(), status(state), ...(last ? [] : [chunk()])], { state, consumed: 2 }));
    const length = (marks[0]?.length ?? 0) + (batches[0]?.entries.length ?? 0);
    const steps = tasks.map(
      ({ lease }, index) =>
        () =>
          storage.append(lease, batches[index] ?? assert.fail()),
    );
    const replies = await loseReplies(bed, steps, () => allHave(bed, ids, length));
    for (const [index, entries] of replies.entries()) {
      const known = marks[index] ?? assert.fail();
      const written = batches[index]?.entries.map(({ mark }) => mark);
      assert.deepEqual(
        entries.map(({ offset, mark }) => `${offset}.${mark}`),
        written?.map((mark, at) => `${known.length + at + 1}.${mark}`),
      );
      known.push(...(written ?? []));
      await assertLog(bed, ids[index] ?? "", known);
      await tasks[index]?.look();
    }
  });
});

test("1,000 commands whose reply was lost are retried and stand in their logs exactly once, cancels and follow-ups alike", async () => {
  await using bed = await openBed();
  const { storage } = bed.lab;
  await rounds(async (round) => {
    const owned = round % 2 === 0;
    const tasks = await Promise.all(many(() => (owned ? bed.lab.owned() : bed.lab.interrupted())));
    const before = owned ? 2 : 3;
    const requests = tasks.map((task, index) => {
      // To an owner, or with the event that a task without one needs.
      const what = index % 2 === 0 ? "message" : "cancel";
      const working = owned ? undefined : task.ready(TaskState.WORKING);
      if (what === "cancel") return task.commandRequest(what, { canceled: task.ready(TaskState.CANCELED) });
      const repeat = { ...repeatKey(), taskId: task.id };
      return task.commandRequest(what, { working, repeat, lease: owned || index % 4 === 0 ? undefined : request() });
    });
    const replies = await loseReplies(
      bed,
      requests.map((one) => () => storage.command(one)),
      () =>
        allHave(
          bed,
          tasks.map(({ id }) => id),
          before + (owned ? 1 : 2),
        ),
    );
    for (const [index, reply] of replies.entries()) {
      const { entry, working, canceled, what, lease, taskId } = requests[index] ?? assert.fail();
      assert.ok(reply.is === "appended");
      const log = await storedLog(bed.server, taskId);
      const events = owned ? [] : [working?.entry.mark ?? canceled?.entry.mark];
      const added = what === "message" ? [...events, entry.mark] : [entry.mark, ...events];
      assert.deepEqual(
        log.slice(before).map(({ mark }) => mark),
        added,
      );
      assert.deepEqual({ owned: reply.owned, offset: reply.offset }, { owned, offset: log.length });
      assert.deepEqual(reply.lease, lease && { taskId, epoch: 2, token: lease.token });
    }
    const sent = requests.filter(({ repeat }) => repeat !== undefined);
    const again = await Promise.all(sent.map((one) => storage.command({ ...one, entry: chunkless(one.entry) })));
    assert.ok(again.every(({ is }) => is === "repeat"));
  });
});

/** The same command as its caller would send it again: with another mark. */
function chunkless<T extends { readonly mark: string }>(entry: T): T {
  return { ...entry, mark: newMark() };
}

test("250 releases whose reply was lost, retried after others have taken the tasks, take nothing away from them", async () => {
  await using bed = await openBed();
  const { storage } = bed.lab;
  await using other = await openLab(bed.server.url);
  const tasks = await Promise.all(many(() => bed.lab.owned()));
  const leases = tasks.map(({ lease }) => lease);
  const taken: string[] = [];
  await loseReplies(
    bed,
    leases.map((lease) => () => storage.release(lease, "ready", 0)),
    async () => {
      // Another replica is quicker than the retry.
      taken.push(...(await other.takeAll("r2")));
      return taken.length === TOGETHER;
    },
  );
  const metas = await Promise.all(tasks.map(({ id }) => storage.meta(id)));
  assert.ok(metas.every((meta) => meta?.leased === true && meta.epoch === 2 && meta.attempts === 1));
  assert.deepEqual(await other.takeAll("r2"), []);
});

test("appends over a connection that is cut again and again stand in their logs exactly once and in order", async (t) => {
  await using bed = await openBed();
  const { storage } = bed.lab;
  const tasks = await Promise.all(Array.from({ length: 40 }, () => bed.lab.owned()));
  const over = new AbortController();
  const writing = tasks.map(async (task) => {
    const marks = (await task.entries()).map(({ mark }) => mark);
    let { position } = task;
    while (!over.signal.aborted) {
      const batch = task.batch([chunk(), chunk()], { after: position });
      const appended = await untilAnswered(
        () => storage.append(task.lease, batch),
        () => false,
      );
      marks.push(...batch.entries.map(({ mark }) => mark));
      position = appended.at(-1) ?? assert.fail();
    }
    return marks;
  });
  for (let cut = 0; cut < 25; cut += 1) {
    await delay(20 + Math.random() * 100);
    bed.proxy.cut();
  }
  over.abort();
  const written = await Promise.all(writing);
  for (const [index, { id }] of tasks.entries()) await assertLog(bed, id, written[index] ?? []);
  t.diagnostic(`${written.flat().length} entries over ${bed.proxy.accepted} connections`);
});

test("a take whose reply was lost is retried and given the same tasks: none is owned by a token that nobody knows of", async () => {
  await using bed = await openBed();
  const { storage } = bed.lab;
  for (let round = 0; round < 10; round += 1) {
    const tasks = await Promise.all(Array.from({ length: 20 }, () => bed.lab.begin()));
    const lost = bed.proxy.dropNextReply({ match: (bytes) => bytes.includes(SCRIPTS.take.sha) });
    const asked = Array.from({ length: 5 }, () => request());
    const takes = asked.map((one) =>
      untilAnswered(
        () => storage.take(one, 10),
        () => false,
      ),
    );
    const taken = (await Promise.all(takes)).flat();
    await lost;
    assert.deepEqual(taken.map(({ lease }) => lease.taskId).toSorted(), tasks.map(({ id }) => id).toSorted());
    const renewed = await storage.renew(taken.map(({ lease }) => ({ lease, consumed: 0 })));
    assert.ok(renewed.every(({ is }) => is === "held"));
  }
});

test("a take that failed is repeated after others have emptied the store, and finds what it was given", async () => {
  await using bed = await openBed();
  const { storage } = bed.lab;
  const tasks = await Promise.all(Array.from({ length: 20 }, () => bed.lab.begin()));
  const asked = request();
  const lost = bed.proxy.dropNextReply({ match: (bytes) => bytes.includes(SCRIPTS.take.sha) }).then(() => bed.proxy.refuse());
  await assert.rejects(storage.take(asked, 10), isAway);
  await lost;
  await bed.proxy.accept();
  const others: Taken[] = [];
  // A shard whose connection is not back yet is left out. In the end nothing waits, and the store knows.
  for (let more: readonly Taken[] = []; ; others.push(...more)) {
    more = await untilAnswered(
      () => storage.take(request(), 100),
      () => false,
    );
    if (more.length === 0) break;
  }
  const mine = await storage.take(asked, 10);
  assert.ok(mine.length > 0);
  assert.deepEqual([...others, ...mine].map(({ lease }) => lease.taskId).toSorted(), tasks.map(({ id }) => id).toSorted());
});

test("a checkpoint whose reply was lost is there once, whole, and no part of it or of an earlier one is left over or gone", async () => {
  await using bed = await openBed();
  const { storage } = bed.lab;
  const task = await bed.lab.owned();
  for (let round = 0; round < 5; round += 1) {
    await task.append([chunk()]);
    const bytes = Buffer.alloc(1024 * 1024 + round, round + 1);
    const lost = bed.proxy.dropNextReply({ match: (written) => written.includes(SCRIPTS.checkpoint.sha) });
    await untilAnswered(
      () => storage.checkpoint(task.id, task.lease, { position: task.position, bytes }),
      () => false,
    );
    await lost;
    const stored = await untilAnswered(
      () => storage.checkpointOf(task.id),
      () => false,
    );
    assert.deepEqual(stored?.position, task.position);
    assert.ok(bytes.equals(stored?.bytes ?? assert.fail()));
    const parts = (await allKeys(bed.server)).filter((name) => name.includes(":c:"));
    const expiring = await Promise.all(parts.map((name) => bed.server.call("PTTL", name)));
    assert.equal(expiring.filter((ms) => ms === -1).length, bytes.length > 1024 * 1024 ? 2 : 1);
  }
});
