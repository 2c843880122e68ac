/** The planner, calling a test-runner that is served in this process over gRPC. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { planner } from "../../examples/planner/agent.ts";
import { testRunner } from "../../examples/test-runner/agent.ts";
import type { Task } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AClient } from "../../src/client/index.ts";
import type { Agent } from "../../src/core/agent.ts";
import { type AgentHarness, testAgent } from "../../src/testing/index.ts";
import { serve } from "../../src/server/serve.ts";
import { aborted, content, Gate, saidBy, stateName, stored } from "../worker/bed.ts";
import { CallIn, isGone, Sandbox } from "./fixture.ts";

/** Two tests that fail in their own ways, and one that passes. */
const FAILING = `import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
describe("sums", () => {
  it("adds", () => {});
  it("carries", () => assert.equal(1, 2));
});
test("top", () => {
  throw new Error("two\\nlines");
});
`;

/** A cancel is carried out to its end, however busy the machine is. */
const PATIENT_MS = 60_000;

/** A runner of one project, a planner that calls it, and a client of the runner that sees what the planner sees. */
class Bed implements AsyncDisposable {
  readonly harness: AgentHarness;
  readonly runner: A2AClient;
  readonly #parts: AsyncDisposableStack;

  private constructor(harness: AgentHarness, runner: A2AClient, parts: AsyncDisposableStack) {
    this.harness = harness;
    this.runner = runner;
    this.#parts = parts;
  }

  static async open(projects: ReadonlyMap<string, string>, wrap: (agent: Agent) => Agent = (agent) => agent): Promise<Bed> {
    await using parts = new AsyncDisposableStack();
    const agent = testRunner({ projects, progressMs: 0, killAfterMs: 100 });
    const server = await serve({ agent, cancelGraceMs: PATIENT_MS, grpcPort: 0, httpPort: 0, opsPort: 0, drainMs: 0, streamGraceMs: 0 });
    parts.defer(() => server.drain({ atOnce: true, skip: AbortSignal.abort() }));
    const url = `http://127.0.0.1:${server.ports.http}`;
    const runner = parts.use(await A2AClient.connect(url));
    const harness = parts.use(await testAgent(wrap(planner({ runner: url })), { cancelGraceMs: PATIENT_MS }));
    return new Bed(harness, runner, parts.move());
  }

  /** The runner's tasks, as it lists them. */
  async runs(): Promise<readonly Task[]> {
    return (await this.runner.listTasks({ includeArtifacts: true })).tasks;
  }

  /** The runner's only task. */
  async run(): Promise<Task> {
    const [task, ...more] = await this.runs();
    assert.ok(task !== undefined && more.length === 0);
    return task;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.disposeAsync();
  }
}

/** A project whose test calls in, and goes on when `go` is called. */
function waiting(sandbox: Sandbox, calls: CallIn): { readonly directory: string; readonly go: () => void } {
  const signal = join(sandbox.path, "go");
  const more = `while (!existsSync(${JSON.stringify(signal)})) await new Promise((resolve) => setTimeout(resolve, 20));\nprocess.exit();`;
  const script = `import { existsSync } from "node:fs";\n${calls.script("test", more)}`;
  const directory = sandbox.project("node test.mjs", { "test.mjs": script });
  return { directory, go: () => writeFileSync(signal, "") };
}

suite("the planner", { timeout: 120_000 }, () => {
  test("reports which tests failed, where and why, in the runner's own words; what it says meanwhile is passed on", async () => {
    using sandbox = new Sandbox();
    const directory = sandbox.project("node --test --test-reporter=spec", { "sums.test.mjs": FAILING });
    await using bed = await Bed.open(new Map([["shop", directory]]));
    const { taskId } = await bed.harness.send("test the shop and report");
    await stored(bed.harness, taskId, "WORKING: running shop: node --test --test-reporter=spec");
    const task = await bed.harness.atRest(taskId);
    assert.equal(stateName(task), "COMPLETED");
    const verdict = saidBy(task);
    assert.match(verdict, /^2 failed, 1 passed in \d+\.\d s \(exit code 1\)$/);
    const [report] = task.artifacts;
    assert.deepEqual([task.artifacts.length, report?.name, report?.parts[0]?.mediaType], [1, "report.md", "text/markdown"]);
    assert.equal(
      content(task, "report"),
      `# shop: ${verdict}

## sums > carries

sums.test.mjs:5:3

    AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:

    1 !== 2

## top

sums.test.mjs:7:1

    Error: two
    lines
`,
    );
    assert.equal((await bed.run()).contextId, task.contextId);
  });

  test("reports the names alone where the log does not tell more", async () => {
    using sandbox = new Sandbox();
    const directory = sandbox.project('echo "FAILED tests/test_a.py::test_b"; echo "=== 1 failed in 0.01s ==="; exit 1');
    await using bed = await Bed.open(new Map([["shop", directory]]));
    const task = await (await bed.harness.send("test shop")).task();
    assert.equal(content(task, "report"), `# shop: ${saidBy(task)}\n\n## tests/test_a.py::test_b\n`);
  });

  test("asks what the runner asks, and answers it on the same task", async () => {
    using sandbox = new Sandbox();
    const directory = sandbox.project("true");
    await using bed = await Bed.open(new Map(["shop", "bank"].map((name) => [name, directory])));
    const asking = await bed.harness.send("run the tests, and report");
    const asked = await asking.task();
    assert.deepEqual([stateName(asked), saidBy(asked)], ["INPUT_REQUIRED", "which project? Allowed: shop, bank"]);
    const task = await (await asking.followUp("bank")).task();
    assert.equal(stateName(task), "COMPLETED");
    assert.match(content(task, "report"), /^# bank: exit code 0 in /);
    assert.equal(stateName(await bed.run()), "COMPLETED");
  });

  test("is refused what the runner refuses, and fails with it", async () => {
    using sandbox = new Sandbox();
    await using bed = await Bed.open(new Map([["shop", sandbox.project("")]]));
    const rejected = await (await bed.harness.send("test project bank")).task();
    assert.deepEqual([stateName(rejected), rejected.artifacts], ["REJECTED", []]);
    assert.match(saidBy(rejected), /"bank" is not allowed/);
    const failed = await (await bed.harness.send("test the shop")).task();
    assert.equal(stateName(failed), "FAILED");
    assert.match(saidBy(failed), /^shop: .*no test script$/);
  });

  test("passes a cancel on: the tests have stopped when it is answered", async () => {
    using sandbox = new Sandbox();
    using calls = new CallIn(sandbox);
    await using bed = await Bed.open(new Map([["shop", waiting(sandbox, calls).directory]]));
    const sent = await bed.harness.send("test the shop");
    const { pid } = await calls.caller("test");
    await stored(bed.harness, sent.taskId, "(memo)");
    assert.equal(stateName(await sent.cancel()), "CANCELED");
    assert.ok(isGone(pid));
    assert.equal(stateName(await bed.run()), "CANCELED");
  });

  test("passes a cancel on while nobody has answered the runner's question", async () => {
    using sandbox = new Sandbox();
    await using bed = await Bed.open(new Map(["shop", "bank"].map((name) => [name, sandbox.path])));
    const asking = await bed.harness.send("test and report");
    assert.equal(stateName(await asking.task()), "INPUT_REQUIRED");
    const { id } = await bed.run();
    assert.equal(stateName(await asking.cancel()), "CANCELED");
    // Nobody waits for that: it comes a moment later.
    while (stateName(await bed.runner.getTask(id)) !== "CANCELED") await new Promise((resolve) => setImmediate(resolve));
  });

  test("leaves no run of the tests behind when it is canceled at once", async () => {
    using sandbox = new Sandbox();
    using calls = new CallIn(sandbox);
    await using bed = await Bed.open(new Map([["shop", waiting(sandbox, calls).directory]]));
    for (let turns = 0; turns < 6; turns += 1) {
      const sent = await bed.harness.send("test the shop");
      for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      assert.equal(stateName(await sent.cancel()), "CANCELED");
    }
    assert.deepEqual(
      (await bed.runs()).map(stateName).filter((state) => state !== "CANCELED"),
      [],
    );
  });

  const CUTS: Readonly<Record<string, (harness: AgentHarness, taskId: string) => Promise<void>>> = {
    "a crash": (harness, taskId) => harness.takeOver(taskId),
    "a drain": (harness) => harness.drain(),
  };
  for (const [what, cut] of Object.entries(CUTS)) {
    test(`after ${what} another replica follows the same run of the tests`, async () => {
      using sandbox = new Sandbox();
      using calls = new CallIn(sandbox);
      const { directory, go } = waiting(sandbox, calls);
      await using bed = await Bed.open(new Map([["shop", directory]]));
      const { taskId } = await bed.harness.send("test the shop");
      await calls.caller("test");
      await stored(bed.harness, taskId, "(memo)");
      await cut(bed.harness, taskId);
      go();
      const task = await bed.harness.atRest(taskId);
      assert.equal(stateName(task), "COMPLETED");
      assert.match(content(task, "report"), /^# shop: exit code 0 in /);
      assert.equal(stateName(await bed.run()), "COMPLETED");
    });
  }

  test("after a crash before its memo was stored it sends the same message again, and the runner knows it", async () => {
    using sandbox = new Sandbox();
    using calls = new CallIn(sandbox);
    const { directory, go } = waiting(sandbox, calls);
    const begun = new Gate();
    const forgetful = (agent: Agent): Agent => ({
      ...agent,
      async *run(turn) {
        for await (const event of agent.run(turn)) {
          if (event.case === "memo" && turn.attempt === 1) {
            begun.open();
            await aborted(turn.signal);
          }
          yield event;
        }
      },
    });
    await using bed = await Bed.open(new Map([["shop", directory]]), forgetful);
    const { taskId } = await bed.harness.send("test the shop");
    await begun.opened;
    await calls.caller("test");
    await bed.harness.takeOver(taskId);
    go();
    assert.equal(stateName(await bed.harness.atRest(taskId)), "COMPLETED");
    await bed.run();
  });
});
