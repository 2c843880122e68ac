import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { suite, test } from "node:test";
import { fromJson, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { SendMessageRequestSchema, type Task } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { resolveOptions } from "../../../src/server/options.ts";
import { MemoryStorage } from "../../../src/storage/memory/memory-storage.ts";
import { brief, collect, everywhere, failureOf, type ScenarioBed, send, sharedBed, stateOf, taskOf } from "../bed.ts";
import type { Caller } from "../callers/caller.ts";
import { checkFailure } from "../failures.ts";

const MiB = 1024 * 1024;

/** Bytes of the request as each binding sends it. */
function sizeOf(caller: Caller, request: JsonObject): number {
  const binary = ["grpc", "connect", "grpc-web"].includes(caller.binding);
  if (binary) return toBinary(SendMessageRequestSchema, fromJson(SendMessageRequestSchema, request)).length;
  const body = caller.binding === "rest" ? request : { jsonrpc: "2.0", id: "call-0", method: "SendMessage", params: request };
  return JSON.stringify(body).length;
}

/** A send of exactly so many bytes: the request's own metadata is padded, which is in no task. */
function padded(caller: Caller, bytes: number): JsonObject {
  const about = send("return", { message: { contextId: randomUUID() }, metadata: { pad: "" } });
  const request = (length: number): JsonObject => ({ ...about, metadata: { pad: "x".repeat(length) } });
  let length = bytes - sizeOf(caller, about);
  // In binary the lengths of lengths grow too.
  for (let excess = 0; (excess = sizeOf(caller, request(length)) - bytes) > 0; length -= excess);
  assert.equal(sizeOf(caller, request(length)), bytes);
  return request(length);
}

for (const [name, given] of [
  ["the default limit of 16 MiB", undefined],
  ["a small limit", 20_000],
] as const) {
  suite(`a request: ${name}`, () => {
    // The limit is the bindings': one deployment is enough for requests of this size.
    const bed = sharedBed(given === undefined ? { storage: new MemoryStorage(resolveOptions({})) } : { maxMessageBytes: given });
    const limit = given ?? 16 * MiB;

    everywhere("R-370 PR-03 is taken at the limit", bed, async (caller) => {
      const task = taskOf(await caller.unary("SendMessage", padded(caller, limit)));
      assert.equal(stateOf(task), "TASK_STATE_COMPLETED");
      assert.ok(JSON.stringify(task).length < 1000);
      return undefined;
    });

    everywhere("R-370 PR-03 is refused one byte beyond it, and nothing begins", bed, async (caller) => {
      const request = padded(caller, limit + 1);
      const failure = await failureOf(caller.unary("SendMessage", request));
      // grpc-js judges the length before any code of ours sees the call.
      if (caller.binding === "grpc") assert.deepEqual([failure.code, failure.reason], [8, undefined]);
      else checkFailure(caller, failure, "MESSAGE_TOO_LARGE");
      const { contextId } = request["message"] as { contextId: string };
      assert.equal((await caller.unary("ListTasks", { contextId })).message["totalSize"], undefined);
      return undefined;
    });

    everywhere("is refused far beyond it, on a stream too", bed, async (caller) => {
      const request = send("return", { metadata: { pad: "x".repeat(2 * limit) } });
      const failure = await failureOf(caller.stream("SendStreamingMessage", request));
      if (caller.binding === "grpc") assert.equal(failure.code, 8);
      else checkFailure(caller, failure, "MESSAGE_TOO_LARGE");
      return undefined;
    });
  });
}

suite("a request of another kind than a send", () => {
  const bed = sharedBed({ maxMessageBytes: 1000 });

  everywhere("R-370 is refused beyond the limit too, and changes nothing", bed, async (caller) => {
    const { id } = taskOf(await caller.unary("SendMessage", send("input")));
    const failure = await failureOf(caller.unary("CancelTask", { id, metadata: { pad: "x".repeat(2000) } }));
    if (caller.binding === "grpc") assert.equal(failure.code, 8);
    else checkFailure(caller, failure, "MESSAGE_TOO_LARGE");
    assert.equal(stateOf((await caller.unary("GetTask", { id })).message), "TASK_STATE_INPUT_REQUIRED");
    return undefined;
  });
});

suite("a body that does not say how long it is", () => {
  const bed = sharedBed({ maxMessageBytes: 1000 });

  for (const target of ["/message:send", "/jsonrpc"]) {
    test(`R-370 is refused once it is too long, though it never ends: ${target}`, async () => {
      const socket = connect(bed().server.ports.http, "127.0.0.1");
      const head = `POST ${target} HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`;
      socket.write(`${head}800\r\n${"x".repeat(0x800)}\r\n`);
      let text = "";
      for await (const chunk of socket) {
        text += String(chunk);
        if (text.endsWith("}")) break;
      }
      assert.match(text, /^HTTP\/1\.1 413 /);
      assert.match(text, /MESSAGE_TOO_LARGE/);
    });
  }
});

suite("a caller that sends everything before it reads anything", () => {
  const bed = sharedBed({ maxMessageBytes: 1000 });

  for (const target of ["/message:send", "/jsonrpc"]) {
    test(`is told that it was too much: ${target}`, async () => {
      const socket = connect(bed().server.ports.http, "127.0.0.1").pause();
      const length = 8 * MiB;
      socket.write(
        `POST ${target} HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`,
      );
      // Resolves when the server has taken the last of it; a reset connection would be an error.
      await new Promise<void>((resolve, reject) => socket.once("error", reject).write("x".repeat(length), () => resolve()));
      let text = "";
      for await (const chunk of socket) text += String(chunk);
      assert.match(text, /^HTTP\/1\.1 413 /);
      assert.match(text, /MESSAGE_TOO_LARGE.*\}$/s);
    });
  }
});

suite("a task", () => {
  const bed = sharedBed({ maxTaskBytes: 3000, maxMessageBytes: 10_000 });

  everywhere("R-370 that would be larger than may be kept is refused before it exists", bed, async (caller) => {
    const contextId = randomUUID();
    const request = send("return", { message: { contextId, metadata: { pad: "x".repeat(3000) } } });
    const calls = [caller.unary("SendMessage", request), caller.stream("SendStreamingMessage", request)];
    const failures = await Promise.all(calls.map(failureOf));
    assert.equal((await caller.unary("ListTasks", { contextId })).message["totalSize"], undefined);
    return failures.map((failure) => checkFailure(caller, failure, "MESSAGE_TOO_LARGE"));
  });

  everywhere("that would grow too large by a follow-up refuses it and stays as it is", bed, async (caller) => {
    const { id } = taskOf(await caller.unary("SendMessage", send("input")));
    const request = send("complete", { message: { taskId: id, metadata: { pad: "x".repeat(2900) } } });
    const failure = await failureOf(caller.unary("SendMessage", request));
    const { message } = await caller.unary("GetTask", { id });
    assert.equal(stateOf(message), "TASK_STATE_INPUT_REQUIRED");
    return [checkFailure(caller, failure, "MESSAGE_TOO_LARGE"), message];
  });
});

suite("a large task", () => {
  const bed = sharedBed();

  everywhere("comes whole in replies and frames", bed, async (caller, { agent }: ScenarioBed) => {
    const gate = agent.gate();
    const pad = "é".repeat(MiB);
    const request = send(`silent ${gate.name}`, { message: { metadata: { pad } } });
    const stream = caller.stream("SendStreamingMessage", request);
    const first = await stream.next();
    const task = first.value?.payload.value as Task;
    assert.equal(task.history[0]?.metadata?.["pad"], pad);
    await gate.reached;
    gate.open();
    const { frames, end } = await collect(stream);
    assert.deepEqual([frames.map(brief), end], [["status COMPLETED"], "clean"]);
    return frames;
  });
});
