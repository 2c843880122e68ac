/** Stores of records: what every one promises, and what the one of files promises beyond that. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import { AcceptanceError, type AcceptanceRecord, FileRecords, MemoryRecords, type RecordStore } from "../../src/client/index.ts";
import { removeFolder, temporaryFolder } from "../redis/child-guard.ts";
import { acceptanceBed, CONCLUDED, WHOLE } from "./acceptance-bed.ts";
import { recordOf } from "./acceptance-record.ts";

const folders: string[] = [];
const newFolder = (): string => {
  const folder = temporaryFolder("records");
  folders.push(folder);
  return join(folder, "records");
};
after(() => folders.forEach(removeFolder));

const STORES: Readonly<Record<string, () => RecordStore>> = {
  "in memory": () => new MemoryRecords(),
  "of files": () => new FileRecords(newFolder()),
};

/** Ids that would be other names, or no names, if they were taken as they are. */
const IDS = [
  "",
  ".",
  "..",
  "../up",
  "a/b",
  "A",
  "a",
  "%41",
  "%",
  "ü",
  "\u0000",
  "nul\n",
  "x".repeat(500),
  `${"x".repeat(499)}y`,
  "content",
];

for (const [name, open] of Object.entries(STORES)) {
  suite(`a store ${name}`, { timeout: 120_000 }, () => {
    test("gives records back as they were, in their order, per context and all together", async () => {
      const store = open();
      assert.deepEqual(await store.read("a"), { records: [], end: 0 });
      assert.deepEqual(await store.all(), []);
      const records: AcceptanceRecord[] = [];
      for (let count = 0; count < 12; count += 1) {
        const record = recordOf({ contextId: "a" });
        assert.ok(await store.append(record, (await store.read("a")).end));
        records.push(record);
      }
      const {
        version: _,
        predecessor: __,
        messageId: ___,
        agent: ____,
        observed: _____,
        content: ______,
        ...sparse
      } = recordOf({ contextId: "b" });
      assert.ok(await store.append(sparse, 0));
      assert.deepEqual((await store.read("a")).records, records);
      assert.deepEqual((await store.read("b")).records, [sparse]);
      assert.deepEqual(await store.all(), [...records, sparse]);
    });

    test("appends nothing where something was appended meanwhile", async () => {
      const store = open();
      const [first, second] = [recordOf(), recordOf()];
      assert.deepEqual((await Promise.all([store.append(first, 0), store.append(second, 0)])).filter(Boolean), [true]);
      const { records, end } = await store.read("context");
      assert.equal(records.length, 1);
      assert.equal(await store.append(second, 0), false);
      assert.ok(await store.append(recordOf(), end));
    });

    test("tells contexts apart, whatever their ids are", async () => {
      const store = open();
      for (const contextId of IDS) assert.ok(await store.append(recordOf({ contextId }), 0), JSON.stringify(contextId));
      for (const contextId of IDS)
        assert.deepEqual(
          (await store.read(contextId)).records.map((one) => one.contextId),
          [contextId],
        );
      assert.equal((await store.all()).length, IDS.length);
    });

    test("keeps bytes under their digest", async () => {
      const store = open();
      const digest = `sha256:${"ab".repeat(32)}`;
      assert.equal(await store.content(digest), undefined);
      await store.keep(digest, Buffer.from([0, 1, 255]));
      await store.keep(digest, Buffer.from([0, 1, 255]));
      assert.deepEqual([...((await store.content(digest)) ?? [])], [0, 1, 255]);
    });
  });
}

const APPENDER = fileURLToPath(new URL("acceptance-appender.ts", import.meta.url));

/** Runs the appender to its end, or until `enough` lines came: then it is killed. Answers what it printed. */
async function append(args: readonly string[], { enough = Number.POSITIVE_INFINITY } = {}): Promise<string[]> {
  const child = spawn(process.execPath, [APPENDER, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (lines.length === enough) child.kill("SIGKILL");
  }
  await ended;
  return lines;
}

suite("a store of files", { timeout: 240_000 }, () => {
  test("is one readable JSON file per record, in a directory that only its user can read", async () => {
    const directory = newFolder();
    const store = new FileRecords(directory);
    const record = recordOf({ contextId: "01a22b86-e8e4" });
    await store.append(record, 0);
    const path = join(directory, "contexts", "01a22b86-e8e4", "000001.json");
    assert.equal(readFileSync(path, "utf8"), `${JSON.stringify(record, null, 2)}\n`);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(statSync(join(directory, "contexts", "01a22b86-e8e4")).mode & 0o777, 0o700);
    assert.deepEqual(readdirSync(join(directory, "contexts", "01a22b86-e8e4")), ["000001.json"]);
    assert.deepEqual(await new FileRecords(directory).all(), [record]);
  });

  test("goes on after a number that is missing, and does not mind what others have put there", async () => {
    const directory = newFolder();
    const folder = join(directory, "contexts", "context");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, ".unfinished.tmp"), "{");
    writeFileSync(join(folder, "notes.txt"), "mine");
    writeFileSync(join(folder, "000007.json"), JSON.stringify({ ...recordOf(), more: "of a later version" }));
    const store = new FileRecords(directory);
    const { records, end } = await store.read("context");
    assert.deepEqual([records.length, end, "more" in (records[0] ?? {})], [1, 7, false]);
    assert.ok(await store.append(recordOf(), end));
    assert.ok(readdirSync(folder).includes("000008.json"));
  });

  test("names the file and the field of what is no record", async () => {
    const wrong: readonly (readonly [text: string, expected: string])[] = [
      ["{", "record: it is not JSON: "],
      ["[]", "record: it must be an object"],
      [JSON.stringify({ ...recordOf(), format: 2 }), "format: it must be 1: another version of this program may have written it"],
      [JSON.stringify({ ...recordOf(), decision: "maybe" }), "decision: it must be provisional, held, accepted, rejected"],
      [JSON.stringify({ ...recordOf(), taskId: undefined }), "taskId: it must be a text"],
      [JSON.stringify({ ...recordOf(), checks: [{ criterion: "x" }] }), "checks[0].passed: it must be true or false"],
      [JSON.stringify({ ...recordOf(), content: { ...recordOf().content, bytes: -1 } }), "content.bytes: it must be a whole number"],
    ];
    for (const [text, expected] of wrong) {
      const directory = newFolder();
      const folder = join(directory, "contexts", "context");
      mkdirSync(folder, { recursive: true });
      const path = join(folder, "000001.json");
      writeFileSync(path, text);
      await assert.rejects(
        new FileRecords(directory).read("context"),
        (error) => error instanceof AcceptanceError && error.message.startsWith(`${path}: ${expected}`),
      );
    }
  });

  test("loses nothing and overwrites nothing of several processes that append to one context", async () => {
    const directory = newFolder();
    const names = ["a", "b", "c"];
    const said = await Promise.all(names.map((name) => append([directory, "context", name, "40"])));
    const { records, end } = await new FileRecords(directory).read("context");
    assert.equal(end, 120);
    for (const [at, name] of names.entries()) {
      const own = records.map(({ taskId }) => taskId).filter((taskId) => taskId.startsWith(`${name}-`));
      assert.deepEqual(own, said[at]);
      assert.equal(own.length, 40);
    }
    assert.deepEqual(
      readdirSync(join(directory, "contexts", "context")).filter((name) => !name.endsWith(".json")),
      [],
    );
  });

  test("has all that a process has heard of when it is killed, and is whole after it", async () => {
    const directory = newFolder();
    for (let round = 0; round < 5; round += 1) {
      const said = await append([directory, "context", `round-${round}`, "100000"], { enough: 3 + round });
      const { records } = await new FileRecords(directory).read("context");
      const own = records.map(({ taskId }) => taskId).filter((taskId) => taskId.startsWith(`round-${round}-`));
      assert.deepEqual(own.slice(0, said.length), said);
      assert.ok(own.length >= said.length);
    }
  });
});

suite("two processes and one store", { timeout: 240_000 }, () => {
  const bed = acceptanceBed();

  test("accept one of two tasks that refine the same version, and hold the other", async () => {
    const { server, task: deliver, book } = bed();
    const directory = newFolder();
    const here = book({ store: new FileRecords(directory) });
    const first = await deliver({ chunks: WHOLE });
    const v1 = await here.accept(first.id, { checks: [CONCLUDED] });
    const tasks = [await deliver({ chunks: WHOLE }, first), await deliver({ chunks: WHOLE }, first)];
    const program = fileURLToPath(new URL("acceptance-rival.ts", import.meta.url));
    const rivals = tasks.map(({ id }) =>
      spawn(process.execPath, [program, `http://127.0.0.1:${server.ports.http}`, directory, id], { stdio: ["pipe", "pipe", "inherit"] }),
    );
    const outputs = rivals.map((child) => createInterface({ input: child.stdout })[Symbol.asyncIterator]());
    for (const lines of outputs) assert.equal((await lines.next()).value, "ready");
    for (const child of rivals) child.stdin.write("go\n");
    const records = await Promise.all(outputs.map(async (lines) => JSON.parse(String((await lines.next()).value)) as AcceptanceRecord));
    assert.deepEqual(records.map(({ decision }) => decision).toSorted(), ["accepted", "held"]);
    const won = records.find(({ decision }) => decision === "accepted");
    assert.equal(won?.predecessor, v1.id);
    assert.deepEqual(await here.current(first.contextId), won);
  });
});
