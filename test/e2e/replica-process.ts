/** Replicas of one service as processes of their own on one Redis. */
import type { Caller } from "../bindings/callers/caller.ts";
import { GrpcCaller } from "../bindings/callers/grpc.ts";
import { JsonRpcCaller } from "../bindings/callers/json-rpc.ts";
import { RestCaller } from "../bindings/callers/rest.ts";
import { PLACE } from "../storage/store-bed.ts";
import { QUICK, type ServerProcess, startServer } from "./server-process.ts";

const TICKING = "test/e2e/agents/ticking.ts";

/** Another version, and its agent. */
interface ReplicaVersion {
  readonly main?: string;
  readonly agent?: string;
}

/** A replica's process and its callers. */
export class ReplicaProcess implements AsyncDisposable {
  readonly server: ServerProcess;
  readonly grpc: GrpcCaller;
  readonly rest: RestCaller;
  readonly jsonRpc: JsonRpcCaller;

  private constructor(server: ServerProcess) {
    this.server = server;
    this.grpc = new GrpcCaller(server.ports.grpc);
    this.rest = new RestCaller(server.ports.http);
    this.jsonRpc = new JsonRpcCaller(server.ports.http);
  }

  /** Starts a replica that ticks; `options` by their names on the command line; `version` is this one unless told otherwise. */
  static async start(
    url: string,
    name: string,
    options: Readonly<Record<string, string | number>> = {},
    { main, agent = TICKING }: ReplicaVersion = {},
  ): Promise<ReplicaProcess> {
    const all = { ...options, replica: name, "redis-url": url, "redis-prefix": PLACE.prefix, "redis-shards": PLACE.shards };
    const args = Object.entries(all).flatMap(([option, value]) => [`--${option}`, `${value}`]);
    return new ReplicaProcess(await startServer([agent, "--log", "warn", ...args], QUICK, main));
  }

  get callers(): readonly Caller[] {
    return [this.grpc, this.rest, this.jsonRpc];
  }

  /** Whether the process still runs. */
  get running(): boolean {
    const { exitCode, signalCode } = this.server.process.child;
    return exitCode === null && signalCode === null;
  }

  signal(name: NodeJS.Signals): void {
    this.server.process.signal(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const caller of this.callers) caller.close();
    // One that stands still hears nothing else.
    if (this.running) this.signal("SIGKILL");
    await this.server.process.exited;
  }
}
