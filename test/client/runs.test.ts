/** Sends and follows of the client, over every binding. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { equals } from "@bufbuild/protobuf";
import { type Message, Role, type Task, TaskSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type A2AError, UnknownOutcomeError } from "../../src/client/a2a-error.ts";
import { isTask } from "../../src/client/task-view.ts";
import { BINDINGS, clientBed } from "./client-bed.ts";

function asTask(reply: Task | Message): Task {
  assert.ok(isTask(reply), "it is a task");
  return reply;
}

function stateOf({ status }: Task): TaskState | undefined {
  return status?.state;
}

/** Callers' messages come back in GetTask; what a stream's reader has of them is its own affair. */
function theirs(task: Task): Task {
  return { ...task, history: task.history.filter(({ role }) => role === Role.AGENT) };
}

suite("a send", () => {
  const bed = clientBed();

  for (const binding of BINDINGS) {
    test(`CL-03 CL-05 is awaited to its task at rest, as GetTask tells it, over ${binding}`, async () => {
      await using it = await bed.through(binding);
      const task = asTask(await it.client.send("complete"));
      assert.equal(stateOf(task), TaskState.COMPLETED);
      assert.ok(equals(TaskSchema, theirs(task), theirs(await it.client.getTask(task.id))));
      assert.equal(it.client.endpoint?.binding, binding);
    });

    test(`that has ended leaves its connection to the next one, over ${binding}`, async () => {
      await using opened = await bed.through(binding);
      const { client, proxy } = opened;
      for (let count = 0; count < 10; count += 1) await client.send(count % 2 === 0 ? "complete" : "reply you");
      // One may begin while the one before it ends.
      assert.ok(proxy.accepted <= 3, `${proxy.accepted} connections`);
    });

    test(`CL-03 answers a direct message over ${binding}`, async () => {
      await using it = await bed.through(binding);
      const message = await it.client.send("reply you");
      assert.ok(!isTask(message));
      assert.deepEqual(message.parts[0]?.content, { case: "text", value: "re: you" });
    });

    test(`CL-08 is read event by event, each with the task so far, over ${binding}`, async () => {
      await using it = await bed.through(binding);
      const gate = bed().agent.gate();
      const seen: string[] = [];
      const run = it.client.send(`chunks ${gate.name}`);
      for await (const { event, task } of run) {
        seen.push(`${event.case} ${task?.artifacts[0]?.parts.length ?? 0}`);
        gate.open();
      }
      assert.deepEqual(seen.slice(0, 3), ["task 0", "statusUpdate 0", "artifactUpdate 1"]);
      assert.equal(seen.at(-1), "statusUpdate 3");
      assert.equal(stateOf(asTask(await run)), TaskState.COMPLETED);
    });

    test(`CL-07 ends at a question, and its answer goes on with the task, over ${binding}`, async () => {
      await using it = await bed.through(binding);
      const asked = asTask(await it.client.send("input"));
      assert.equal(stateOf(asked), TaskState.INPUT_REQUIRED);
      const done = asTask(await it.client.send("complete", { taskId: asked.id }));
      assert.equal(done.id, asked.id);
      assert.equal(stateOf(done), TaskState.COMPLETED);
    });

    test(`CL-09 a cut is a cut: the stream goes on where it stood, no part twice and none missing, over ${binding}`, async () => {
      await using it = await bed.through(binding);
      const gate = bed().agent.gate();
      const run = it.client.send(`chunks ${gate.name}`);
      const kinds: string[] = [];
      for await (const { event } of run) {
        kinds.push(String(event.case));
        if (event.case === "artifactUpdate") it.proxy.cut();
        gate.open();
      }
      assert.equal(kinds.filter((kind) => kind === "task").length, 1, kinds.join());
      const task = asTask(await run);
      assert.deepEqual(
        task.artifacts[0]?.parts.map(({ content }) => content.value),
        ["one ", "two ", "three"],
      );
      assert.equal(run.incomplete.size, 0);
    });

    test(`tells of each connection that was lost, before it comes back, over ${binding}`, async () => {
      const told: string[] = [];
      await using it = await bed.through(binding, {
        reconnect: { baseMs: 5, maxMs: 50, attempts: 1000 },
        reconnecting: ({ taskId, losses }) => {
          told.push(`${taskId} ${losses}`);
          // Nothing comes through at first: the losses are in a row.
          if (losses === 2) void it.proxy.accept();
        },
      });
      const gate = bed().agent.gate();
      const run = it.client.send(`chunks ${gate.name}`);
      for await (const { event } of run) {
        if (event.case !== "artifactUpdate" || told.length > 0) continue;
        it.proxy.refuse();
        it.proxy.cut();
        gate.open(3);
      }
      const { id } = asTask(await run);
      assert.deepEqual(told.slice(0, 2), [`${id} 1`, `${id} 2`]);
      await it.client.send("complete");
      assert.equal(told.length, told.findLastIndex((line) => line.startsWith(id)) + 1, "a run that loses nothing tells nothing");
    });

    test(`CL-13 a send that is cut before its task is sent again with the same messageId, and one task begins, over ${binding}`, async () => {
      await using it = await bed.through(binding);
      const contextId = crypto.randomUUID();
      const about = (bytes: Buffer): boolean => bytes.includes(contextId);
      const dropped = it.proxy.dropNextReply({ match: about, isReply: about });
      const task = asTask(await it.client.send("complete", { contextId }));
      assert.equal(stateOf(task), TaskState.COMPLETED);
      await dropped;
      assert.equal((await it.client.listTasks({ contextId })).totalSize, 1);
    });

    test(`CL-21 returns immediately and is polled where it is asked to, over ${binding}`, async () => {
      await using it = await bed.through(binding, { wait: "poll", pollIntervalMs: 20 });
      const gate = bed().agent.gate();
      const run = it.client.send(`slow ${gate.name}`);
      const first = await run[Symbol.asyncIterator]().next();
      assert.equal(first.done === false && first.value.event.case, "task");
      gate.open();
      assert.equal(stateOf(asTask(await run)), TaskState.COMPLETED);
    });

    test(`is canceled, and its run ends with the task, over ${binding}`, async () => {
      await using it = await bed.through(binding);
      const gate = bed().agent.gate();
      const run = it.client.send(`slow ${gate.name}`);
      const canceled = await run.cancel();
      assert.equal(stateOf(canceled), TaskState.CANCELED);
      assert.equal(stateOf(asTask(await run)), TaskState.CANCELED);
      assert.equal(stateOf(await it.client.cancelTask(canceled.id)), TaskState.CANCELED);
    });

    test(`is canceled before it is read, and its reader misses nothing, over ${binding}`, async () => {
      await using it = await bed.through(binding);
      const run = it.client.send(`slow ${bed().agent.gate().name}`);
      const canceled = run.cancel();
      const events: (string | undefined)[] = [];
      for await (const { event } of run) events.push(event.case);
      assert.equal(events[0], "task");
      assert.equal(stateOf(await canceled), TaskState.CANCELED);
    });

    test(`is canceled at once where it is polled, over ${binding}`, async () => {
      await using it = await bed.through(binding, { wait: "poll", pollIntervalMs: 600_000 });
      const gate = bed().agent.gate();
      const run = it.client.send(`slow ${gate.name}`);
      const rest = run.then(asTask);
      await gate.reached;
      await run.cancel();
      assert.equal(stateOf(await rest), TaskState.CANCELED);
    });

    test(`has the server's error, the same over each binding: ${binding}`, async () => {
      await using it = await bed.through(binding);
      const bad = it.client.send({ parts: [] });
      await assert.rejects(
        async () => bad,
        (error: A2AError) => error.reason === "INVALID_ARGUMENT" && error.violations[0]?.field === "message.parts",
      );
      await assert.rejects(it.client.getTask(crypto.randomUUID()), (error: A2AError) => error.reason === "TASK_NOT_FOUND");
    });

    test(`ends with the reason of its caller's signal, and the task goes on, over ${binding}`, async () => {
      await using it = await bed.through(binding);
      const gate = bed().agent.gate();
      const abort = new AbortController();
      const run = it.client.send(`slow ${gate.name}`, { signal: abort.signal });
      for await (const { task } of run) if (task?.status?.state === TaskState.WORKING) break;
      abort.abort(new Error("enough"));
      await assert.rejects(async () => run, /enough/);
      gate.open();
      const id = run.task?.id ?? assert.fail("the task is known");
      assert.equal(stateOf(asTask(await it.client.follow(id))), TaskState.COMPLETED);
    });
  }
});

suite("a follow", () => {
  const bed = clientBed();

  for (const binding of BINDINGS) {
    test(`CL-10 of a task that has ended reads it over ${binding}`, async () => {
      await using it = await bed.through(binding);
      const { id } = asTask(await it.client.send("complete"));
      assert.equal(stateOf(asTask(await it.client.follow(id))), TaskState.COMPLETED);
    });

    test(`CL-11 of a task that is not there has an unknown outcome over ${binding}`, async () => {
      await using it = await bed.through(binding);
      const id = crypto.randomUUID();
      await assert.rejects(
        async () => it.client.follow(id),
        (error: UnknownOutcomeError) => error instanceof UnknownOutcomeError && error.taskId === id,
      );
    });

    test(`goes on where another client stood over ${binding}`, async () => {
      await using it = await bed.through(binding);
      const gate = bed().agent.gate();
      const run = it.client.send(`chunks ${gate.name}`);
      for await (const { event } of run) if (event.case === "artifactUpdate") break;
      const known = { task: run.task ?? assert.fail(), position: run.position ?? assert.fail("the server tells positions") };
      await run.close();
      gate.open(3);
      const events: (string | undefined)[] = [];
      const rest = it.client.follow(known.task.id, { known });
      for await (const { event } of rest) events.push(event.case);
      assert.deepEqual(events, ["artifactUpdate", "statusUpdate", "artifactUpdate", "statusUpdate"]);
      assert.equal(asTask(await rest).artifacts[0]?.parts.length, 3);
    });
  }
});

suite("an artifact", () => {
  const bed = clientBed();

  for (const binding of BINDINGS) {
    test(`is read while it grows, each piece once, however often the stream is cut, over ${binding}`, async () => {
      await using it = await bed.through(binding);
      const gate = bed().agent.gate();
      const pieces: string[] = [];
      for await (const piece of it.client.send(`chunks ${gate.name}`).text()) {
        pieces.push(piece);
        it.proxy.cut();
        gate.open(2);
      }
      assert.deepEqual(pieces, ["one ", "two ", "three"]);
    });
  }
});
