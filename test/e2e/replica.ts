/** Replicas of one service in the test's own process: each has its own server, worker and store, and they share nothing but Redis. */
import assert from "node:assert/strict";
import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Agent } from "../../src/core/agent.ts";
import { serve, type RunningServer, type ServeInit } from "../../src/server/serve.ts";
import { checkPromises, type FollowerRecord, type TaskRecord } from "../../src/testing/index.ts";
import type { Caller } from "../bindings/callers/caller.ts";
import { GrpcCaller } from "../bindings/callers/grpc.ts";
import { JsonRpcCaller } from "../bindings/callers/json-rpc.ts";
import { RestCaller } from "../bindings/callers/rest.ts";
import type { RedisServer } from "../redis/redis-server.ts";
import { keysOf, PLACE, storedLog } from "../storage/store-bed.ts";

/** Ports that are free, waits that a test can bear, streams that end with their task only. */
const QUICK = {
  grpcPort: 0,
  httpPort: 0,
  opsPort: 0,
  drainDelayMs: 0,
  streamGraceMs: 0,
  drainMs: 0,
  closeOnInputRequired: "none",
} as const satisfies Partial<ServeInit>;

/** One replica and its callers. */
export class Replica implements AsyncDisposable {
  readonly server: RunningServer;
  readonly grpc: GrpcCaller;
  readonly rest: RestCaller;
  readonly jsonRpc: JsonRpcCaller;

  private constructor(server: RunningServer) {
    this.server = server;
    this.grpc = new GrpcCaller(server.ports.grpc);
    this.rest = new RestCaller(server.ports.http);
    this.jsonRpc = new JsonRpcCaller(server.ports.http);
  }

  /** Starts a replica on the Redis at `url`. */
  static async open(url: string, agent: Agent, init: Partial<ServeInit> & { readonly replica: string }): Promise<Replica> {
    return new Replica(await serve({ ...QUICK, ...init, redis: { url, ...PLACE, ...init.redis }, agent }));
  }

  get callers(): readonly [GrpcCaller, RestCaller, JsonRpcCaller] {
    return [this.grpc, this.rest, this.jsonRpc];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const caller of this.callers) caller.close();
    await this.server.drain({ atOnce: true, skip: AbortSignal.abort() });
  }
}

/** A task at the end of a run: as Redis has it, and as GetTask answers it. */
export async function recordOf(redis: RedisServer, caller: Caller, taskId: string, given?: ReadonlySet<string>): Promise<TaskRecord> {
  const keys = keysOf(taskId);
  const [entries, reply, leased, waiting] = await Promise.all([
    storedLog(redis, taskId),
    caller.unary("GetTask", { id: taskId }),
    redis.call("ZSCORE", keys.leases, taskId),
    redis.call("ZSCORE", keys.ready, taskId),
  ]);
  const task = fromJson(TaskSchema, reply.message);
  let custody: NonNullable<TaskRecord["custody"]> = "nobody";
  if (leased !== null) custody = "owned";
  else if (waiting !== null) custody = "waiting";
  return { taskId, entries, task, custody, ...(given && { given }) };
}

/** Fails where a promise of the service is broken. */
export function assertPromises(tasks: readonly TaskRecord[], followers: readonly FollowerRecord[]): void {
  assert.deepEqual(checkPromises(tasks, followers), []);
}

/** The id of the task that a reply or a first frame tells. */
export function idOf(json: JsonObject): string {
  return ((json["task"] ?? json) as { id: string }).id;
}
