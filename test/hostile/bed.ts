/** A server under attack, every way to attack it, and what must be true after each blow. */
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { create, type DescMethod, toBinary } from "@bufbuild/protobuf";
import { A2AService, ListTasksRequestSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Agent } from "../../src/core/agent.ts";
import { type RunningServer, serve, type ServeInit } from "../../src/server/serve.ts";
import { send, taskOf } from "../bindings/bed.ts";
import { GrpcCaller } from "../bindings/callers/grpc.ts";
import { checkFailure } from "../bindings/failures.ts";
import type { Outcome, Variant } from "./expectations.ts";
import { CONFIG_ID, type Targets } from "./request-fields.ts";
import { type Answer, assertClean, type BinarySurface, type JsonSurface, type Surface } from "./surface.ts";
import { envelopedBinary, envelopedJson } from "./surfaces/enveloped.ts";
import { GrpcSurface } from "./surfaces/grpc.ts";
import { JsonRpcSurface } from "./surfaces/json-rpc.ts";
import { RestSurface } from "./surfaces/rest.ts";

const OPTIONS: Partial<ServeInit> = {
  grpcPort: 0,
  httpPort: 0,
  opsPort: 0,
  workingAfterMs: 2 ** 30,
  drainDelayMs: 0,
  streamGraceMs: 0,
  drainMs: 0,
  // Each send is one, however often it is sent.
  dedupe: { mode: "off" },
  push: { enabled: true, maxConfigs: 100_000 },
  authenticate: () => ({ name: "attacker" }),
};

const CARD = {
  name: "target",
  description: "Takes anything and ends at once",
  version: "1",
  defaultInputModes: ["*/*"],
  defaultOutputModes: ["*/*"],
  skills: [],
};

const AGENT: Agent = { card: CARD, async *run() {}, extendedCard: () => CARD };

/** The server and its surfaces. */
export class HostileBed implements AsyncDisposable {
  readonly server: RunningServer;
  /** A caller who means well. */
  readonly caller: GrpcCaller;
  readonly rest: RestSurface;
  readonly jsonRpc: JsonRpcSurface;
  readonly grpc: GrpcSurface;
  readonly json: readonly JsonSurface[];
  readonly binary: readonly BinarySurface[];
  readonly targets: Targets;

  private constructor(server: RunningServer, caller: GrpcCaller, targets: Targets) {
    const { http, grpc } = server.ports;
    this.server = server;
    this.caller = caller;
    this.targets = targets;
    this.rest = new RestSurface(http);
    this.jsonRpc = new JsonRpcSurface(http);
    this.grpc = new GrpcSurface(grpc);
    this.json = [this.rest, this.jsonRpc, ...envelopedJson(http)];
    this.binary = [this.grpc, ...envelopedBinary(http)];
  }

  static async open(init: Partial<ServeInit> = {}): Promise<HostileBed> {
    const server = await serve({ agent: AGENT, ...OPTIONS, ...init });
    const caller = new GrpcCaller(server.ports.grpc);
    const { id: taskId } = taskOf(await caller.unary("SendMessage", send("x")));
    await caller.unary("CreateTaskPushNotificationConfig", { taskId, id: CONFIG_ID, url: "https://example.org/" });
    return new HostileBed(server, caller, { taskId });
  }

  /** How many tasks there are. */
  async tasks(): Promise<number> {
    return ((await this.caller.unary("ListTasks", { pageSize: 1 })).message["totalSize"] ?? 0) as number;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const surface of [...this.json, ...this.binary]) surface.close();
    this.caller.close();
    await this.server.drain({ atOnce: true, skip: AbortSignal.abort() });
  }
}

/** One bed for a whole suite. Call it inside the suite. */
export function sharedHostileBed(init: Partial<ServeInit> = {}): () => HostileBed {
  let bed: HostileBed | undefined;
  before(async () => {
    bed = await HostileBed.open(init);
  });
  after(() => bed?.[Symbol.asyncDispose]());
  return () => bed ?? assert.fail("the server is not up");
}

/** Checks that an answer is the expected one, in its binding's form, and tells nothing. */
export function assertOutcome({ failure, received }: Answer, outcome: Outcome, surface: Pick<Surface<never>, "binding">): void {
  assertClean(received);
  if (outcome === "ok") {
    assert.equal(failure, undefined, `${failure?.reason}: ${failure?.message}`);
    return;
  }
  const { reason, fields, below = false } = outcome;
  assert.ok(failure !== undefined, `was taken; expected ${reason} ${fields.join(", ")}`);
  const named = below ? failure.violations.map((field) => field.slice(0, fields[0]?.length)) : failure.violations;
  checkFailure(surface, { ...failure, violations: [...new Set(named)].toSorted() }, reason, fields.toSorted());
}

/**
 * Sends all variants of a method's request: each has its outcome, a good request is served after each that was refused, and there are as
 * many tasks more as sends were taken.
 */
export async function attack<Surfaced extends JsonSurface | BinarySurface>(
  bed: HostileBed,
  surface: Surfaced,
  method: DescMethod,
  variants: readonly Variant<Parameters<Surfaced["send"]>[1]>[],
): Promise<void> {
  const tasks = await bed.tasks();
  let begun = 0;
  for (const { name, request, outcome } of variants) {
    try {
      assertOutcome(await surface.send(method, request as never), outcome, surface);
      if (outcome !== "ok") await assertServes(surface);
      else if (method.name.startsWith("Send")) begun += 1;
    } catch (error) {
      throw new Error(`${surface.name}: ${name}: ${(error as Error).message}`, { cause: error });
    }
  }
  assert.equal((await bed.tasks()) - tasks, begun, `${surface.name}: as many tasks as sends that were taken`);
}

const LIST = A2AService.methods.find(({ name }) => name === "ListTasks") as DescMethod;
const CONTEXT = "no such context";

/** Checks that a good request on the same surface is served. */
export async function assertServes(surface: JsonSurface | BinarySurface): Promise<void> {
  const answer =
    "placement" in surface
      ? await surface.send(LIST, jsonList(surface))
      : await surface.send(LIST, toBinary(ListTasksRequestSchema, create(ListTasksRequestSchema, { contextId: CONTEXT })));
  assert.equal(answer.failure, undefined, "the next request was not served");
}

function jsonList(surface: JsonSurface): Parameters<JsonSurface["send"]>[1] {
  const field = LIST.input.fields.find(({ name }) => name === "context_id");
  const inBody = field !== undefined && surface.placement(LIST, field) === "body";
  return inBody
    ? { params: [], body: [["contextId", JSON.stringify(CONTEXT)]] }
    : { params: [["contextId", encodeURIComponent(CONTEXT)]], body: [] };
}
