/** The client without any SDK, written from A2A's rules for clients, against faults. */
import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { suite, test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { stateOf } from "../bindings/bed.ts";
import { Pace } from "../e2e/pace.ts";
import { ROOT } from "../e2e/server-process.ts";
import { countingAgent } from "../examples/callers/counting-agent.ts";
import { commandsOf, PYTHON, whyNot } from "../examples/callers/toolchains.ts";
import { TwoReplicas } from "../examples/callers/two-replicas.ts";
import { freePort } from "../redis/free-port.ts";
import { until } from "../redis/until.ts";

const FOLDER = join(ROOT, "examples/callers/python-plain");

const TASKS = 100;
const WITHIN_MS = 90_000;
/** Numbers between two faults. */
const STEP = 12;

suite("the client in plain Python", { skip: whyNot(PYTHON), timeout: 280_000 }, () => {
  test("runs as the README says", async () => {
    await using service = await TwoReplicas.open(countingAgent(new Pace(0)), "http");
    const [command = ""] = commandsOf("Python, plain");
    const line = command.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${service.proxy.port}`);
    const child = spawn("/bin/sh", ["-c", line], { cwd: FOLDER, stdio: ["ignore", "pipe", "inherit"] });
    assert.equal(stateOf(JSON.parse(await text(child.stdout)) as JsonObject), "TASK_STATE_COMPLETED");
  });

  test("says in one line that nothing was sent where nobody listens, or where the URL is none", async () => {
    const closed = `http://127.0.0.1:${await freePort()}`;
    for (const [base, why] of [
      [closed, "takes no connections"],
      ["127.0.0.1:8080", "is no URL that begins with http:// or https://"],
    ] as const) {
      const child = spawn("python3", [join(FOLDER, "client.py"), base, "3"], { stdio: ["ignore", "ignore", "pipe"] });
      assert.equal(await text(child.stderr), `nothing was sent: ${base} ${why}\n`);
    }
  });

  test(`ends ${TASKS} tasks at once as they are stored, after cuts, a drain, and a server that is away`, async (t) => {
    const pace = new Pace(STEP);
    await using service = await TwoReplicas.open(countingAgent(pace), "http");
    const { proxy } = service;
    const rests = (): Promise<unknown> => until("every turn waits", WITHIN_MS, async () => pace.waiting === TASKS);
    const faults: readonly (() => Promise<void> | void)[] = [
      () => proxy.cut(),
      () => proxy.finish(),
      () => service.drain(),
      async () => {
        proxy.refuse();
        proxy.cut();
        pace.allow(STEP * 5);
        await rests();
        await proxy.accept();
      },
      () => proxy.cut(),
    ];
    // One of them sends twice.
    const lost = proxy.dropNextReply({ match: (bytes) => bytes.includes("/message:stream") });
    await using client = new Client(
      proxy.port,
      Array.from({ length: TASKS }, () => `${STEP * 7}`),
    );
    await lost;
    for (const [index, fault] of faults.entries()) {
      await rests();
      const before = proxy.accepted;
      // Some cuts come between two numbers, some in the middle of many.
      if (index % 2 === 1) pace.allow(STEP * (index + 2));
      await fault();
      await until("every reader is back", WITHIN_MS, async () => proxy.accepted >= before + TASKS);
      pace.allow(STEP * (index + 2));
    }
    await rests();
    pace.allow(STEP * 7);
    const tasks = await client.tasks;
    t.diagnostic(`${proxy.accepted} connections`);
    assert.equal(tasks.length, TASKS);
    for (const task of tasks) {
      assert.deepEqual(task, await service.task(task["id"] as string));
      assert.deepEqual(
        numbersOf(task),
        Array.from({ length: STEP * 7 }, (_, index) => index + 1),
      );
    }
    assert.equal(await service.count(), TASKS);
  });
});

/** The client at work on so many texts. */
class Client implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  /** What it prints. */
  readonly tasks: Promise<JsonObject[]>;

  constructor(port: number, texts: readonly string[]) {
    const args = [join(FOLDER, "client.py"), `http://127.0.0.1:${port}`, ...texts];
    this.#child = spawn("python3", args, { stdio: ["ignore", "pipe", "pipe"] });
    this.tasks = this.#read();
    this.tasks.catch(() => undefined);
  }

  async #read(): Promise<JsonObject[]> {
    const [stdout, stderr] = await Promise.all([text(this.#child.stdout), text(this.#child.stderr)]);
    assert.equal(stderr, "");
    return stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as JsonObject);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.tasks.catch(() => undefined);
  }
}

function numbersOf(task: JsonObject): number[] {
  const [numbers] = task["artifacts"] as { parts: { text: string }[] }[];
  return (numbers?.parts ?? []).map(({ text: number }) => Number(number));
}
