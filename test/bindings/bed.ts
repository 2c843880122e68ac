/** A server with callers on every binding, and what scenarios share. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { StreamResponse } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type RunningServer, serve, type ServeInit } from "../../src/server/serve.ts";
import { CallFailed, type Caller, type Failure, frameJson, type Reply, type Stream } from "./callers/caller.ts";
import { GrpcCaller } from "./callers/grpc.ts";
import { JsonRpcCaller } from "./callers/json-rpc.ts";
import { RestCaller } from "./callers/rest.ts";
import { ScenarioAgent } from "./scenario-agent.ts";

/** Nothing happens by the clock: no WORKING of its own, no waiting in a drain. */
const QUIET = { grpcPort: 0, httpPort: 0, opsPort: 0, workingAfterMs: 2 ** 30, drainDelayMs: 0, streamGraceMs: 0, drainMs: 0 };

/** A running server and its callers. */
export class Bed implements AsyncDisposable {
  readonly server: RunningServer;
  readonly agent: ScenarioAgent;
  readonly grpc: GrpcCaller;
  readonly rest: RestCaller;
  readonly jsonRpc: JsonRpcCaller;

  constructor(server: RunningServer, agent: ScenarioAgent) {
    this.server = server;
    this.agent = agent;
    this.grpc = new GrpcCaller(server.ports.grpc);
    this.rest = new RestCaller(server.ports.http, { prefix: server.options.restPrefix });
    this.jsonRpc = new JsonRpcCaller(server.ports.http);
  }

  get callers(): readonly [GrpcCaller, RestCaller, JsonRpcCaller] {
    return [this.grpc, this.rest, this.jsonRpc];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const caller of this.callers) caller.close();
    await this.server.drain({ atOnce: true, skip: AbortSignal.abort() });
  }
}

/** Starts a server on free ports. */
export async function openBed(init: Partial<ServeInit> = {}, agent: ScenarioAgent = new ScenarioAgent()): Promise<Bed> {
  return new Bed(await serve({ ...QUIET, ...init, agent }), agent);
}

/** One server for a whole suite; call it inside the suite. */
export function sharedBed(init: Partial<ServeInit> = {}, agent?: ScenarioAgent): () => Bed {
  let bed: Bed | undefined;
  before(async () => {
    bed = await openBed(init, agent);
  });
  after(() => bed?.[Symbol.asyncDispose]());
  return () => bed ?? assert.fail("the server is not up");
}

/** What a scenario saw; compared between the bindings after ids and times were replaced. */
export type Outcome = JsonValue | undefined | readonly Outcome[] | { readonly [name: string]: Outcome };

/**
 * A test that runs its scenario over each binding and then compares what each saw: replies, frames, errors and effects are the same but
 * for the binding's own codes.
 */
export function everywhere(name: string, bed: () => Bed, scenario: (caller: Caller, bed: Bed) => Promise<Outcome>): void {
  test(name, async () => {
    const outcomes: Record<string, Outcome> = {};
    for (const caller of bed().callers) {
      try {
        outcomes[caller.binding] = normal(await scenario(caller, bed()));
      } catch (error) {
        throw new Error(`over ${caller.binding}: ${(error as Error).message}`, { cause: error });
      }
    }
    assert.deepEqual(outcomes["rest"], outcomes["grpc"], "rest and grpc differ");
    assert.deepEqual(outcomes["json-rpc"], outcomes["grpc"], "json-rpc and grpc differ");
  });
}

/** The value with ids replaced by the order of their appearance and times by a word. */
function normal(value: Outcome): Outcome {
  const ids = new Map<string, string>();
  const text = JSON.stringify(value ?? null, (_, held: unknown) => (held === undefined ? null : held));
  const named = text
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) => {
      if (!ids.has(id)) ids.set(id, `id${ids.size + 1}`);
      return ids.get(id) as string;
    })
    .replace(/gate-\d+/g, "gate")
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "time");
  return JSON.parse(named) as JsonValue;
}

/** A user's message with a fresh id. */
export function message(text: string, more: JsonObject = {}): JsonObject {
  return { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }], ...more };
}

/** A send of such a message. */
export function send(text: string, { message: said = {}, ...more }: { readonly message?: JsonObject } & JsonObject = {}): JsonObject {
  return { message: message(text, said), ...more };
}

/** The task of a reply. */
export function taskOf({ message: reply }: Reply): JsonObject & { readonly id: string; readonly contextId: string } {
  return (reply["task"] ?? reply) as JsonObject & { id: string; contextId: string };
}

/** The state of a task or of an event. */
export function stateOf(json: JsonObject): string {
  return (json["status"] as JsonObject)["state"] as string;
}

/** Sends a task that stops where the text says, and answers its id. */
export async function startTask(caller: Caller, text: string, more: JsonObject = {}): Promise<string> {
  const reply = await caller.unary("SendMessage", send(text, { configuration: { returnImmediately: true }, ...more }));
  return taskOf(reply).id;
}

/** The error of a call; a call that succeeds is one too. */
export async function errorOf(call: Promise<unknown> | Stream): Promise<CallFailed> {
  try {
    if ("next" in call) await call.next();
    else await call;
  } catch (error) {
    if (error instanceof CallFailed) return error;
    throw error;
  }
  return assert.fail("the call did not fail");
}

/** What the error of a call tells. */
export async function failureOf(call: Promise<unknown> | Stream): Promise<Failure> {
  return (await errorOf(call)).failure;
}

/** A stream's frames, and how it ended. */
export async function collect(stream: AsyncIterable<StreamResponse>): Promise<{ frames: JsonObject[]; end: "clean" | Failure }> {
  const frames: JsonObject[] = [];
  try {
    for await (const frame of stream) frames.push(frameJson(frame));
    return { frames, end: "clean" };
  } catch (error) {
    if (error instanceof CallFailed) return { frames, end: error.failure };
    throw error;
  }
}

/** The next frame of a stream. */
export async function nextFrame(stream: Stream): Promise<JsonObject> {
  const { value, done } = await stream.next();
  if (done === true) return assert.fail("the stream has ended");
  return frameJson(value);
}

/** A frame in one word or two: `task SUBMITTED`, `status WORKING`, `artifact a`. */
export function brief(frame: JsonObject): string {
  const [[kind, value] = ["", {}]] = Object.entries(frame) as [string, JsonObject][];
  if (kind === "message") return "message";
  if (kind === "artifactUpdate") return `artifact ${(value["artifact"] as JsonObject)["artifactId"] as string}`;
  return `${kind === "statusUpdate" ? "status" : kind} ${stateOf(value).replace("TASK_STATE_", "")}`;
}
