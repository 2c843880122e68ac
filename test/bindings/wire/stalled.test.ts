import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { suite, test } from "node:test";
import type { Turn } from "../../../src/core/agent.ts";
import { type AgentEvent, artifact, textPart } from "../../../src/core/events.ts";
import { type Bed, collect, send, sharedBed } from "../bed.ts";
import type { Caller } from "../callers/caller.ts";
import { ConnectCaller } from "../callers/connect.ts";
import { GrpcCaller } from "../callers/grpc.ts";
import { GrpcWebCaller } from "../callers/grpc-web.ts";
import { ScenarioAgent } from "../scenario-agent.ts";

/** More than the buffers of a socket and of its peer take, in frames that are not sliced. */
const FRAMES = 400;
const FRAME_BYTES = 64 * 1024;
const STALLED_MS = 200;

class Flood extends ScenarioAgent {
  readonly #ends = new Map<string, PromiseWithResolvers<void>>();

  override async *run({ taskId }: Turn): AsyncGenerator<AgentEvent> {
    for (let index = 0; index < FRAMES; index += 1)
      yield artifact({ artifactId: "a", parts: [textPart(String(index % 10).repeat(FRAME_BYTES))] });
    this.#end(taskId).resolve();
  }

  /** Resolves when all of a task's frames are in its log. */
  over(taskId: string): Promise<void> {
    return this.#end(taskId).promise;
  }

  #end(taskId: string): PromiseWithResolvers<void> {
    const end = this.#ends.get(taskId) ?? Promise.withResolvers<void>();
    this.#ends.set(taskId, end);
    return end;
  }
}

const CALLERS: Readonly<Record<string, (ports: Bed["server"]["ports"]) => Caller>> = {
  gRPC: ({ grpc }) => new GrpcCaller(grpc),
  "Connect over HTTP/1.1": ({ http }) => new ConnectCaller(http, { http: 1 }),
  "Connect over HTTP/2": ({ http }) => new ConnectCaller(http),
  "gRPC-Web over HTTP/1.1": ({ http }) => new GrpcWebCaller(http),
  "gRPC-Web over HTTP/2": ({ http }) => new GrpcWebCaller(http, { http: 2 }),
};

suite("a reader that takes nothing for stalledStreamMs, and then what is on its way,", () => {
  const flood = new Flood();
  // All of it stays readable: a reader that is overtaken would get the task in one frame.
  const bed = sharedBed({ stalledStreamMs: STALLED_MS, stallFlushMs: 60_000, windowBytes: 2 * FRAMES * FRAME_BYTES }, flood);

  for (const [name, open] of Object.entries(CALLERS)) {
    test(`is told so, after whole messages: ${name}`, { timeout: 120_000 }, async (t) => {
      const caller = open(bed().server.ports);
      t.after(() => caller.close());
      const stream = caller.stream("SendStreamingMessage", send("flood"));
      // One is read: grpc-js drops at an error all that nobody has asked for.
      const first = await stream.next();
      const taskId = (await stream.headers).get("a2a-task-id") as string;
      // The task goes on to its end meanwhile.
      await flood.over(taskId);
      // Nothing tells when the server has given up: it does within this long, by the same clock.
      await sleep(10 * STALLED_MS);
      const { frames, end } = await collect(stream);
      assert.notEqual(end, "clean");
      if (end !== "clean") assert.deepEqual([end.code, end.reason, end.metadata], [14, "STREAM_STALLED", { taskId }]);
      assert.equal(first.value?.payload.case, "task");
      assert.ok(frames.length < FRAMES && (frames.length > 1 || name === "gRPC"), `${frames.length} frames`);
    });
  }
});
