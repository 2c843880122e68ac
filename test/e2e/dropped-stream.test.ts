/** The stream that drops and is picked up, on every binding, against a server process that runs real tests. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, suite, test } from "node:test";
import { type JsonObject, toJson } from "@bufbuild/protobuf";
import { type StreamResponse, type Task, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { apply } from "../../src/core/task.ts";
import { brief, collect, errorOf, send, stateOf } from "../bindings/bed.ts";
import { type Caller, frameJson, type Stream } from "../bindings/callers/caller.ts";
import { GrpcCaller } from "../bindings/callers/grpc.ts";
import { JsonRpcCaller } from "../bindings/callers/json-rpc.ts";
import { RestCaller } from "../bindings/callers/rest.ts";
import { checkFailure } from "../bindings/failures.ts";
import { Projects } from "./projects.ts";
import { QUICK, type ServerProcess, startServer } from "./server-process.ts";

const LOG_URI = "urn:throughline:a2a:log:v1";
const OPENING = ["task SUBMITTED", "status WORKING", "artifact test-log", "artifact test-log"];

/** Who opens the stream on each binding, and who picks it up. */
const BINDINGS: Readonly<Record<string, (ports: ServerProcess["ports"]) => readonly Caller[]>> = {
  gRPC: ({ grpc }) => [new GrpcCaller(grpc)],
  "HTTP+JSON": ({ http }) => [new RestCaller(http), new RestCaller(http, { subscribe: "GET" })],
  "JSON-RPC": ({ http }) => [new JsonRpcCaller(http)],
};

suite("a stream that drops", { concurrency: true, timeout: 180_000 }, () => {
  const projects = new Projects();
  let server: ServerProcess;

  before(async () => {
    for (const binding of Object.keys(BINDINGS)) for (const way of ["snapshot", "position"]) projects.add(nameOf(binding, way));
    server = await startServer(["examples/test-runner/agent.ts"], { ...QUICK, ...projects.env, THROUGHLINE_WORKING_AFTER_MS: "60000" });
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    projects[Symbol.dispose]();
  });

  for (const [binding, callersOf] of Object.entries(BINDINGS)) {
    test(`P-1 P-2 P-6 is picked up over ${binding} from a snapshot, and nothing comes twice`, async () => {
      const callers = callersOf(server.ports);
      const project = nameOf(binding, "snapshot");
      const { id } = await openAndDrop(callers[0] as Caller, project);
      const missed = await untilChunks(callers[0] as Caller, id, 4);
      const streams = callers.map((caller) => caller.stream("SubscribeToTask", { id }));
      const firsts = await Promise.all(streams.map(next));
      const known = chunksOf(await getTask(callers[0] as Caller, id)).length;
      const rests = await Promise.all(streams.map(collectRaw));

      const task = await getTask(callers[0] as Caller, id);
      const all = chunksOf(task);
      for (const [index, first] of firsts.entries()) {
        const { task: snapshot } = frameJson(first) as { task: JsonObject };
        assert.equal(stateOf(snapshot), "TASK_STATE_WORKING");
        const held = chunksOf(snapshot);
        assert.ok(held.length >= missed && held.length <= known, `${missed} <= ${held.length} <= ${known}`);
        assert.deepEqual(held, all.slice(0, held.length));
        const rest = rests[index] as StreamResponse[];
        assert.deepEqual(rest.flatMap(chunkOf), all.slice(held.length));
        assert.deepEqual(folded([first, ...rest]), task);
        checkEnd(rest);
      }
      await checkOver(callers, id);
      assert.equal(all.join(""), readFileSync(projects.outputOf(project), "utf8"));
      for (const caller of callers) caller.close();
    });

    test(`P-1 P-2 P-3 is picked up over ${binding} by position, without a snapshot, a repeat or a hole`, async () => {
      const callers = callersOf(server.ports);
      const project = nameOf(binding, "position");
      const { id, frames } = await openAndDrop(callers[0] as Caller, project, { "a2a-extensions": LOG_URI });
      const missed = await untilChunks(callers[0] as Caller, id, 4);
      const headers = { "a2a-extensions": LOG_URI, "last-event-id": `${id}/${positionOf(frames.at(-1) as StreamResponse)}` };
      const streams = callers.map((caller) => caller.stream("SubscribeToTask", { id }, { headers }));
      const rests = await Promise.all(streams.map(collectRaw));

      const task = await getTask(callers[0] as Caller, id);
      const all = chunksOf(task);
      assert.ok(missed >= 4);
      for (const rest of rests) {
        assert.deepEqual(
          rest.filter(({ payload }) => payload.case === "task"),
          [],
        );
        const whole = [...frames, ...rest];
        // The first frame stands for the task and the message behind it; from there every entry is an event.
        assert.deepEqual(
          whole.map(offsetOf),
          whole.map((_, index) => index + 2),
        );
        assert.deepEqual(whole.flatMap(chunkOf), all);
        assert.deepEqual(folded(whole), task);
        checkEnd(rest);
      }
      await checkOver(callers, id);
      const last = `${id}/${positionOf(rests[0]?.at(-1) as StreamResponse)}`;
      await checkOver(callers, id, { "a2a-extensions": LOG_URI, "last-event-id": last });
      assert.equal(all.join(""), readFileSync(projects.outputOf(project), "utf8"));
      for (const caller of callers) caller.close();
    });
  }
});

function nameOf(binding: string, way: string): string {
  return `${binding.replace(/\W/g, "")}-${way}`;
}

/** Opens a stream on a run of the project's tests, reads four frames and goes. */
async function openAndDrop(
  caller: Caller,
  project: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly id: string; readonly frames: readonly StreamResponse[] }> {
  const stream = caller.stream("SendStreamingMessage", send(`run the tests of ${project}`), { headers });
  const frames: StreamResponse[] = [];
  while (frames.length < OPENING.length) frames.push(await next(stream));
  stream.leave();
  assert.deepEqual(
    frames.map((frame) => brief(frameJson(frame))),
    OPENING,
  );
  const { task } = frameJson(frames[0] as StreamResponse) as { task: { id: string } };
  return { id: task.id, frames };
}

/** Asks until the log has so many chunks; answers how many. A run that ends before is one that nobody could drop out of. */
async function untilChunks(caller: Caller, id: string, least: number): Promise<number> {
  for (;;) {
    const task = await getTask(caller, id);
    const count = chunksOf(task).length;
    if (count >= least) return count;
    assert.equal(stateOf(task), "TASK_STATE_WORKING");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function getTask(caller: Caller, id: string): Promise<JsonObject> {
  return (await caller.unary("GetTask", { id })).message;
}

async function next(stream: Stream): Promise<StreamResponse> {
  const { value, done } = await stream.next();
  return done === true ? assert.fail("the stream has ended") : value;
}

/** The rest of a stream, which must end cleanly. */
async function collectRaw(stream: Stream): Promise<StreamResponse[]> {
  const frames: StreamResponse[] = [];
  for await (const frame of stream) frames.push(frame);
  return frames;
}

/** The pieces of the log that a task holds. */
function chunksOf(task: JsonObject): string[] {
  const artifacts = (task["artifacts"] ?? []) as { artifactId: string; parts: { text: string }[] }[];
  return (artifacts.find(({ artifactId }) => artifactId === "test-log")?.parts ?? []).map(({ text }) => text);
}

function chunkOf({ payload }: StreamResponse): string[] {
  if (payload.case !== "artifactUpdate" || payload.value.artifact?.artifactId !== "test-log") return [];
  return payload.value.artifact.parts.map(({ content }) => (content.case === "text" ? content.value : ""));
}

/** The task that a reader of these frames has in the end. */
function folded(frames: readonly StreamResponse[]): JsonObject {
  let task: Task | undefined;
  for (const frame of frames) ({ task } = apply(task, frame));
  const json = toJson(TaskSchema, task as Task) as JsonObject;
  delete json["metadata"];
  return json;
}

function positionOf({ payload }: StreamResponse): string {
  const { metadata } = payload.value as { metadata?: JsonObject };
  return (metadata?.[LOG_URI] as { position: string } | undefined)?.position ?? assert.fail("a frame without a position");
}

function offsetOf(frame: StreamResponse): number {
  return Number(positionOf(frame).split(".")[0]);
}

/** The last frame says how it went. */
function checkEnd(frames: readonly StreamResponse[]): void {
  const last = frameJson(frames.at(-1) as StreamResponse);
  assert.equal(brief(last), "status COMPLETED");
  assert.match(JSON.stringify(last), /96 passed, 0 failed/);
  assert.equal(frames.filter((frame) => brief(frameJson(frame)) === "status COMPLETED").length, 1);
}

/** What is over is not streamed again: a plain refusal, before any frame. */
async function checkOver(callers: readonly Caller[], id: string, headers: Readonly<Record<string, string>> = {}): Promise<void> {
  for (const caller of callers) {
    const { frames, end } = await collect(caller.stream("SubscribeToTask", { id }, { headers }));
    assert.deepEqual(frames, []);
    assert.notEqual(end, "clean");
    if (end !== "clean") checkFailure(caller, end, "UNSUPPORTED_OPERATION");
    const refused = await errorOf(caller.stream("SubscribeToTask", { id }, { headers }));
    if (caller.binding !== "grpc") assert.match(refused.headers.get("content-type") ?? "", /^application\/json/);
  }
}
