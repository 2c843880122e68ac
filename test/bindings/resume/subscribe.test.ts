/** SubscribeToTask with a position, over three bindings. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { createParser } from "eventsource-parser";
import { brief, collect, everywhere, failureOf, nextFrame, send, sharedBed, startTask, stateOf, taskOf } from "../bed.ts";
import type { HttpRequest } from "../callers/http.ts";
import { checkFailure } from "../failures.ts";
import { ACTIVE, idOf, LOG_URI, offsetOf, plain, subscribe, whole } from "./positions.ts";

suite("positions", { timeout: 60_000 }, () => {
  const bed = sharedBed();

  everywhere("R-221 P-3 stand in every frame where the call asks for them, and only grow", bed, async (caller) => {
    const { frames } = await whole(caller, "talk");
    assert.deepEqual(frames.map(brief), ["task SUBMITTED", "status WORKING", "status WORKING", "status COMPLETED"]);
    // The task's own entry is followed by the message that began it.
    assert.deepEqual(frames.map(offsetOf), [2, 3, 4, 5]);
    for (const frame of frames) assert.match(idOf(frame), /^[0-9a-f-]{36}\/\d+\.[0-9a-f]{8}$/);
    return plain(frames);
  });

  everywhere("R-222 change nothing else in the frames", bed, async (caller, { agent }) => {
    const gate = agent.gate();
    const id = await startTask(caller, `chunks ${gate.name}`);
    await gate.reached;
    const streams = [{}, { headers: ACTIVE }].map((options) => caller.stream("SubscribeToTask", { id }, options));
    const firsts = await Promise.all(streams.map(nextFrame));
    gate.open(3);
    const [without, having] = await Promise.all(streams.map(collect));
    assert.deepEqual(plain([firsts[1] ?? {}, ...(having?.frames ?? [])]), [firsts[0], ...(without?.frames ?? [])]);
    return undefined;
  });

  everywhere("leave the task that GetTask answers alone", bed, async (caller) => {
    const { id } = await whole(caller, "complete");
    const { message: task } = await caller.unary("GetTask", { id }, { headers: ACTIVE });
    assert.equal(task["metadata"], undefined);
    return task;
  });
});

suite("a reader that comes back with a position", { timeout: 60_000 }, () => {
  const bed = sharedBed();

  everywhere("P-1 P-3 goes on after it, wherever it stood, without the task", bed, async (caller) => {
    const { id, frames } = await whole(caller, "complete");
    for (const [index, frame] of frames.entries()) {
      if (index === frames.length - 1) continue;
      const { frames: rest, end } = await collect(subscribe(caller, id, idOf(frame)));
      assert.deepEqual(rest, frames.slice(index + 1));
      assert.equal(end, "clean");
    }
    return undefined;
  });

  everywhere("is refused where it has seen the end", bed, async (caller) => {
    const { id, frames } = await whole(caller, "complete");
    const failure = await failureOf(subscribe(caller, id, idOf(frames.at(-1) ?? {})));
    return checkFailure(caller, failure, "UNSUPPORTED_OPERATION");
  });

  everywhere("is answered at once, before there is anything new", bed, async (caller, { agent }) => {
    const gate = agent.gate();
    const opened = caller.stream("SendStreamingMessage", send(`slow ${gate.name}`), { headers: ACTIVE });
    const { task } = (await nextFrame(opened)) as { task: { id: string } };
    const last = idOf(await nextFrame(opened));
    const resumed = subscribe(caller, task.id, last);
    const first = nextFrame(resumed);
    // The agent still waits: no frame can have come.
    const headers = await resumed.headers;
    assert.equal(headers.get("a2a-extensions"), LOG_URI);
    assert.equal(headers.get("a2a-task-id"), task.id);
    gate.open();
    assert.equal(brief(await first), "status COMPLETED");
    assert.equal((await collect(resumed)).end, "clean");
    return undefined;
  });

  everywhere("R-225 is told which header is wrong", bed, async (caller) => {
    const { id, frames } = await whole(caller, "complete");
    const position = idOf(frames[1] ?? {}).slice(id.length + 1);
    const bad = [
      "nonsense",
      position,
      `/${position}`,
      `${id}/`,
      `${id}/3`,
      `${id}/3.xyz`,
      `${id}/-3.00000000`,
      `${id}/3.0000000G`,
      `${id}/03.00000000`,
    ];
    const failures = [];
    for (const last of bad) {
      const failure = await failureOf(subscribe(caller, id, last));
      assert.deepEqual(failure.violations, ["Last-Event-ID"], last);
      failures.push(checkFailure(caller, failure, "INVALID_ARGUMENT", ["Last-Event-ID"]));
    }
    const { id: other } = await whole(caller, "complete");
    failures.push(
      checkFailure(caller, await failureOf(subscribe(caller, other, `${id}/${position}`)), "INVALID_ARGUMENT", ["Last-Event-ID"]),
    );
    return failures;
  });

  everywhere("P-3 of another history gets the task, and goes on from there", bed, async (caller, { agent }) => {
    const gate = agent.gate();
    const id = await startTask(caller, `chunks ${gate.name}`);
    await gate.reached;
    await caller.unary("GetTask", { id });
    const strangers = ["3.00000000", "0.00000000", "4000000000.0a0b0c0d"];
    const streams = strangers.map((position) => subscribe(caller, id, `${id}/${position}`));
    const firsts = await Promise.all(streams.map(nextFrame));
    assert.deepEqual(firsts.map(brief), ["task WORKING", "task WORKING", "task WORKING"]);
    gate.open(3);
    const rests = await Promise.all(streams.map(collect));
    for (const { frames, end } of rests) {
      assert.equal(end, "clean");
      assert.deepEqual(frames.map(brief), ["artifact log", "status WORKING", "artifact log", "status COMPLETED"]);
    }
    return undefined;
  });

  everywhere("of another history, after the end, gets the whole task and the end", bed, async (caller) => {
    const { id } = await whole(caller, "complete");
    const { frames, end } = await collect(subscribe(caller, id, `${id}/5.ffffffff`));
    assert.deepEqual([frames.map(brief), end], [["task COMPLETED"], "clean"]);
    return plain(frames);
  });

  everywhere("R-225 is a stranger to a task that there is not", bed, async (caller) => {
    const id = crypto.randomUUID();
    return checkFailure(caller, await failureOf(subscribe(caller, id, `${id}/3.00000000`)), "TASK_NOT_FOUND");
  });
});

suite("without the extension", { timeout: 60_000 }, () => {
  const bed = sharedBed();

  everywhere("R-075 R-092 R-226 SV-08 a position is not looked at, and the first frame is the task", bed, async (caller, { agent }) => {
    const gate = agent.gate();
    const id = await startTask(caller, `slow ${gate.name}`);
    await gate.reached;
    for (const last of ["nonsense", `${id}/3.00000000`, `${crypto.randomUUID()}/3.00000000`]) {
      const stream = caller.stream("SubscribeToTask", { id }, { headers: { "last-event-id": last } });
      const first = await nextFrame(stream);
      assert.match(brief(first), /^task /);
      assert.equal((first["task"] as JsonObject)["metadata"], undefined);
      stream.leave();
    }
    const sent = await caller.unary("SendMessage", send("complete"), { headers: { "last-event-id": `${id}/3.00000000` } });
    assert.equal(stateOf(taskOf(sent)), "TASK_STATE_COMPLETED");
    gate.open();
    return undefined;
  });
});

suite("the id lines of server-sent events", { timeout: 60_000 }, () => {
  const bed = sharedBed();
  const requests: Readonly<Record<string, (request: JsonObject) => Omit<HttpRequest, "headers">>> = {
    "HTTP+JSON": (request) => ({ method: "POST", target: "/message:stream", body: JSON.stringify(request) }),
    "JSON-RPC": (request) => ({
      method: "POST",
      target: "/",
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendStreamingMessage", params: request }),
    }),
  };
  for (const [name, request] of Object.entries(requests)) {
    for (const extensions of [undefined, LOG_URI]) {
      test(`SV-15 of ${name} ${extensions === undefined ? "are not there without the extension" : "are the positions of the frames"}`, async () => {
        const headers = [
          ["a2a-version", "1.0"],
          ["content-type", "application/json"],
          ...(extensions ? [["a2a-extensions", extensions]] : []),
        ];
        const { text } = await bed().rest.http.fetch({ ...request(send("talk")), headers: headers as [string, string][] });
        const events: { id?: string | undefined; data: string }[] = [];
        createParser({ onEvent: (event) => events.push(event) }).feed(text);
        assert.equal(events.length, 4);
        for (const { id, data } of events) {
          const json = JSON.parse(data) as JsonObject;
          assert.equal(id, extensions && idOf((json["result"] ?? json) as JsonObject));
        }
      });
    }
  }
});
