/** How the client waits where an agent does not stream, where calls break off, and where nothing tells whether a send was taken. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { StillRunningError, UnknownOutcomeError } from "../../src/client/a2a-error.ts";
import { isTask } from "../../src/client/task-view.ts";
import { ScenarioAgent } from "../bindings/scenario-agent.ts";
import { BINDINGS, clientBed } from "./client-bed.ts";

suite("an agent that does not stream", () => {
  const bed = clientBed({}, new ScenarioAgent({ card: { capabilities: { streaming: false } } }));

  for (const binding of BINDINGS) {
    test(`CL-01 CL-22 is polled, and what has changed is an event, over ${binding}`, async () => {
      await using it = await bed.through(binding, { pollIntervalMs: 10 });
      const gate = bed().agent.gate();
      const states: (TaskState | undefined)[] = [];
      for await (const { event, task } of it.client.send(`slow ${gate.name}`)) {
        assert.equal(event.case, "task");
        states.push(task?.status?.state);
        if (task?.status?.state === TaskState.WORKING) gate.open();
      }
      assert.equal(states.at(-1), TaskState.COMPLETED);
      assert.equal(new Set(states).size, states.length, "each event is news");
    });

    test(`CL-10 can be followed all the same, by what GetTask tells, over ${binding}`, async () => {
      await using it = await bed.through(binding, { pollIntervalMs: 10 });
      const first = await it.client.send("complete");
      assert.ok(isTask(first));
      const followed = await it.client.follow(first.id);
      assert.ok(isTask(followed) && followed.status?.state === TaskState.COMPLETED);
    });

    test(`CL-12 that goes on working is told to be still running, with its task, over ${binding}`, async () => {
      await using it = await bed.through(binding);
      const gate = bed().agent.gate();
      const run = it.client.send(`slow ${gate.name}`, { wait: "poll" });
      await run[Symbol.asyncIterator]().next();
      const id = run.task?.id ?? assert.fail();
      await run.close();
      await assert.rejects(
        async () => it.client.follow(id),
        (error: StillRunningError) => error instanceof StillRunningError && error.taskId === id && error.task.id === id,
      );
      await it.client.cancelTask(id);
    });
  }
});

suite("a send that blocks", () => {
  const bed = clientBed();

  for (const binding of BINDINGS) {
    test(`CL-14 and is cut goes on with the task that it has begun, over ${binding}`, async () => {
      const told: (string | undefined)[] = [];
      await using it = await bed.through(binding, { wait: "block", reconnecting: ({ taskId }) => told.push(taskId) });
      const gate = bed().agent.gate();
      const contextId = crypto.randomUUID();
      const rest = it.client.send(`slow ${gate.name}`, { contextId }).then((task) => task);
      await gate.reached;
      it.proxy.cut();
      gate.open();
      const task = await rest;
      assert.ok(isTask(task) && task.status?.state === TaskState.COMPLETED);
      assert.deepEqual([told, (await it.client.listTasks({ contextId })).totalSize], [[undefined], 1]);
    });

    test(`CL-14 is asked after where nothing comes, as its connection may be half open, over ${binding}`, async () => {
      const { promise: noticed, resolve } = Promise.withResolvers<void>();
      await using it = await bed.through(binding, { wait: "block", silenceMs: 1500, reconnecting: () => resolve() });
      const gate = bed().agent.gate();
      const contextId = crypto.randomUUID();
      const rest = it.client.send(`slow ${gate.name}`, { contextId }).then((task) => task);
      await gate.reached;
      it.proxy.halfOpen();
      await noticed;
      await it.proxy.heal();
      gate.open();
      const task = await rest;
      assert.ok(isTask(task) && task.status?.state === TaskState.COMPLETED);
      assert.equal((await it.client.listTasks({ contextId })).totalSize, 1);
    });
  }
});

suite("an agent that says nothing for longer than a call may take", () => {
  const bed = clientBed();

  for (const binding of BINDINGS) {
    for (const wait of ["stream", "block"] as const) {
      test(`CL-14 is waited for: its run is neither cut nor sent again (${wait}, ${binding})`, async () => {
        let lost = 0;
        const reconnecting = (): void => void (lost += 1);
        await using it = await bed.through(binding, { wait, timeoutMs: 150, reconnecting });
        const gate = bed().agent.gate();
        const contextId = crypto.randomUUID();
        const run = it.client.send(`silent ${gate.name}`, { contextId });
        const rest = run.then((task) => task);
        await gate.reached;
        await delay(600);
        gate.open();
        const task = await rest;
        assert.ok(isTask(task) && task.status?.state === TaskState.COMPLETED);
        assert.deepEqual([lost, (await it.client.listTasks({ contextId })).totalSize], [0, 1]);
      });
    }
  }
});

for (const mode of ["off", "running"] as const)
  suite(`a server that does not know all repeats: ${mode}`, () => {
    const bed = clientBed({ dedupe: { mode } });

    for (const binding of BINDINGS) {
      for (const wait of ["stream", "block", "poll"] as const) {
        test(`CL-13 CL-14 CL-15 is not sent the same again: its outcome is unknown (${wait}, ${binding})`, async () => {
          await using it = await bed.through(binding, { wait });
          const contextId = crypto.randomUUID();
          const about = (bytes: Buffer): boolean => bytes.includes(contextId);
          const dropped = it.proxy.dropNextReply({ match: about, isReply: about });
          await assert.rejects(
            async () => it.client.send("complete", { contextId }),
            (error: UnknownOutcomeError) =>
              error instanceof UnknownOutcomeError && error.contextId === contextId && error.messageId !== undefined,
          );
          await dropped;
          assert.equal((await it.client.listTasks({ contextId })).totalSize, 1, "it can be found by its context");
        });
      }
    }
  });

suite("a server that is away", () => {
  const bed = clientBed();

  for (const binding of BINDINGS) {
    test(`CL-27 is called again where the call may be repeated, over ${binding}`, async () => {
      await using it = await bed.through(binding);
      await it.client.listTasks();
      it.proxy.cut();
      it.proxy.refuse();
      const listed = it.client.listTasks();
      await it.proxy.heal();
      assert.ok((await listed).pageSize > 0);
    });

    test(`a send that was never taken may be made again, over ${binding}`, async () => {
      await using it = await bed.through(binding);
      it.proxy.refuse();
      const sent = it.client.send("complete");
      await it.proxy.heal();
      const task = await sent;
      assert.ok(isTask(task) && task.status?.state === TaskState.COMPLETED);
    });
  }
});
