/** Servers with callers on every binding, and what scenarios share. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { StreamResponse } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { ClientOptionsInput } from "../../src/client/client-options.ts";
import type { Agent } from "../../src/core/agent.ts";
import { type RunningServer, serve, type ServeInit } from "../../src/server/serve.ts";
import { upstreamAgent } from "../../src/upstream/upstream-agent.ts";
import { fileRedis } from "../redis/file-redis.ts";
import { CallFailed, type Caller, type Failure, frameJson, type Reply, type Stream } from "./callers/caller.ts";
import { ConnectCaller } from "./callers/connect.ts";
import { ElsewhereCaller, type Replica, Whereabouts } from "./callers/elsewhere.ts";
import { GrpcCaller } from "./callers/grpc.ts";
import { GrpcWebCaller } from "./callers/grpc-web.ts";
import { JsonRpcCaller } from "./callers/json-rpc.ts";
import { RestCaller } from "./callers/rest.ts";
import { ScenarioAgent } from "./scenario-agent.ts";

/** Nothing happens by the clock: no WORKING of its own, no waiting in a drain. */
const QUIET = { grpcPort: 0, httpPort: 0, opsPort: 0, workingAfterMs: 2 ** 30, drainDelayMs: 0, streamGraceMs: 0, drainMs: 0 };

/** What a scenario runs on, however it is deployed. */
export interface ScenarioBed extends AsyncDisposable {
  readonly agent: ScenarioAgent;
  /** One of each surface. */
  readonly callers: readonly [Caller, ...Caller[]];
}

/** A running server and its callers. */
export class Bed implements ScenarioBed {
  readonly server: RunningServer;
  readonly agent: ScenarioAgent;
  readonly grpc: GrpcCaller;
  /** Binary over HTTP/2. */
  readonly connect: ConnectCaller;
  /** Binary over HTTP/1.1. */
  readonly grpcWeb: GrpcWebCaller;
  readonly rest: RestCaller;
  readonly jsonRpc: JsonRpcCaller;

  constructor(server: RunningServer, agent: ScenarioAgent) {
    this.server = server;
    this.agent = agent;
    this.grpc = new GrpcCaller(server.ports.grpc);
    this.connect = new ConnectCaller(server.ports.http);
    this.grpcWeb = new GrpcWebCaller(server.ports.http);
    this.rest = new RestCaller(server.ports.http, { prefix: server.options.restPrefix });
    this.jsonRpc = new JsonRpcCaller(server.ports.http);
  }

  get callers(): readonly [GrpcCaller, ConnectCaller, GrpcWebCaller, RestCaller, JsonRpcCaller] {
    return [this.grpc, this.connect, this.grpcWeb, this.rest, this.jsonRpc];
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

/** Starts two replicas on one Redis, with callers whose calls after a send go to the replica that does not run the turn. */
async function openReplicas(init: Partial<ServeInit> = {}, agent: ScenarioAgent = new ScenarioAgent()): Promise<ScenarioBed> {
  const whereabouts = new Whereabouts();
  const redis = await fileRedis();
  const open = async (replica: Replica): Promise<Bed> => {
    const own: Agent = {
      card: agent.card,
      acceptsMessages: agent.acceptsMessages,
      reply: (request) => agent.reply(request),
      ...(agent.extendedCard && { extendedCard: (reader) => agent.extendedCard?.(reader) }),
      run(turn) {
        whereabouts.began(turn.taskId, replica);
        return agent.run(turn);
      },
    };
    return new Bed(await serve({ ...QUIET, ...init, redis, replica: `replica-${replica}`, agent: own }), agent);
  };
  await using opened = new AsyncDisposableStack();
  const [home, away] = [opened.use(await open(0)), opened.use(await open(1))];
  const [first, ...others] = home.callers.map((caller, at) => new ElsewhereCaller([caller, away.callers[at] as Caller], whereabouts));
  const stack = opened.move();
  return { agent, callers: [first as Caller, ...others], [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** With this the upstream behind a front lets the front in, as somebody whom scenarios know. */
const FRONT_TOKEN = "front";

/**
 * Starts a server with a front before it. The options are the front's, as callers know nothing of what is behind it; but where repeats are to
 * begin tasks of their own, the upstream must not join them, and it is the upstream's agent that thinks too long.
 */
async function openFront(init: Partial<ServeInit> = {}, agent: ScenarioAgent = new ScenarioAgent()): Promise<ScenarioBed> {
  await using opened = new AsyncDisposableStack();
  const { dedupe, replyTimeoutMs, ...own } = init;
  const known = init.tokens !== undefined || init.authenticate !== undefined;
  const tokens = known && { tokens: { [FRONT_TOKEN]: "alice" } };
  const upstream = opened.use(await openBed({ ...(dedupe && { dedupe }), ...(replyTimeoutMs && { replyTimeoutMs }), ...tokens }, agent));
  const extensions = (agent.card.capabilities?.extensions ?? []).map(({ uri = "" }) => uri);
  const client: ClientOptionsInput = { bindings: ["GRPC"], ...(known && { headers: { authorization: `Bearer ${FRONT_TOKEN}` } }) };
  const { acceptsMessages } = agent;
  const front = opened.use(await upstreamAgent(upstream.server.card, { client, acceptsMessages, extensions }));
  const { callers } = opened.use(new Bed(await serve({ ...QUIET, ...own, ...(dedupe && { dedupe }), agent: front }), agent));
  const stack = opened.move();
  return { agent, callers, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

type Open = (init: Partial<ServeInit>, agent: ScenarioAgent | undefined) => Promise<ScenarioBed>;

/** The deployments of a service that a caller cannot tell apart. */
const DEPLOYMENTS = {
  "one replica in memory": openBed,
  "one replica on Redis": async (init, agent) => openBed({ ...init, redis: await fileRedis() }, agent),
  "two replicas on Redis": openReplicas,
  "behind a front": openFront,
} as const satisfies Readonly<Record<string, Open>>;
type Deployment = keyof typeof DEPLOYMENTS;
const MEMORY: Deployment = "one replica in memory";
const FRONT: Deployment = "behind a front";

/** The beds of one suite: call it for the one in memory. */
export interface SharedBed {
  (): Bed;
  /** Where {@link everywhere} runs its scenarios. */
  readonly deployments: readonly Deployment[];
  /** The suite has scenarios: its beds on Redis are wanted too. */
  wanted: boolean;
  readonly on: (deployment: Deployment) => ScenarioBed;
}

/** Beds for a whole suite, one per deployment; a suite that brings its own store has only that. Call it inside the suite. */
export function sharedBed(init: Partial<ServeInit> = {}, agent?: ScenarioAgent): SharedBed {
  const beds = new Map<Deployment, ScenarioBed>();
  const on = (deployment: Deployment): ScenarioBed => beds.get(deployment) ?? assert.fail("the server is not up");
  const deployments = init.storage === undefined ? (Object.keys(DEPLOYMENTS) as Deployment[]) : [MEMORY];
  const shared: SharedBed = Object.assign(() => on(MEMORY) as Bed, { deployments, wanted: false, on });
  before(async () => {
    for (const deployment of shared.wanted ? deployments : [MEMORY]) beds.set(deployment, await DEPLOYMENTS[deployment](init, agent));
  });
  after(async () => {
    for (const bed of beds.values()) await bed[Symbol.asyncDispose]();
  });
  return shared;
}

/** What a scenario saw; compared between the bindings and deployments after ids and times were replaced. */
export type Outcome = JsonValue | undefined | readonly Outcome[] | { readonly [name: string]: Outcome };

/** Where a scenario is not meant to come out the same. */
interface Unlike {
  /** Why an agent behind a front answers otherwise. */
  readonly behindFront?: string;
}

/**
 * Tests that run a scenario on each deployment over each binding and then compare what each saw: replies, frames, errors and effects are
 * the same but for the binding's own codes.
 */
export function everywhere(
  name: string,
  bed: SharedBed,
  scenario: (caller: Caller, bed: ScenarioBed) => Promise<Outcome>,
  { behindFront }: Unlike = {},
): void {
  bed.wanted = true;
  /** What the first of all saw. */
  let first: { readonly outcome: Outcome; readonly where: string } | undefined;
  for (const deployment of bed.deployments) {
    if (deployment === FRONT && behindFront !== undefined) continue;
    test(deployment === MEMORY ? name : `${name} (${deployment})`, async () => {
      const here = bed.on(deployment);
      for (const caller of here.callers) {
        const where = `${caller.binding} (${deployment})`;
        try {
          const outcome = normal(await scenario(caller, here));
          first ??= { outcome, where };
          assert.deepEqual(outcome, first.outcome, `another outcome than over ${first.where}`);
        } catch (error) {
          throw new Error(`over ${where}: ${(error as Error).message}`, { cause: error });
        }
      }
    });
  }
}

/** The value with ids replaced by the order of their appearance and times by a word. */
export function normal(value: Outcome): Outcome {
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
