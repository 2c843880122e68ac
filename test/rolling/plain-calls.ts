/** Callers that know nothing of this project and repeat a call once where it was UNAVAILABLE, all through a rolling restart. */
import { setTimeout as delay } from "node:timers/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { CallFailed, type Caller } from "../bindings/callers/caller.ts";
import { GrpcCaller } from "../bindings/callers/grpc.ts";
import { JsonRpcCaller } from "../bindings/callers/json-rpc.ts";
import { RestCaller } from "../bindings/callers/rest.ts";
import { said } from "./said.ts";
import type { ServicePorts } from "./service.ts";

const UNAVAILABLE = 14;
const BETWEEN_MS = 20;

/** What came of the calls. */
export interface Called {
  calls: number;
  repeated: number;
  /** Why calls failed after their second attempt. */
  readonly failed: string[];
}

/** Calls that go on until they are stopped. */
export class PlainCalls {
  readonly called: Called = { calls: 0, repeated: 0, failed: [] };
  readonly #stop = new AbortController();
  readonly #loops: Promise<void>[];
  readonly #callers: readonly Caller[];

  /** Of tasks that are there, and of new ones that end at once. */
  constructor({ grpc, http }: ServicePorts, tasks: readonly string[], ended: string) {
    this.#callers = [new GrpcCaller(grpc), new RestCaller(http), new JsonRpcCaller(http)];
    this.#loops = this.#callers.map((caller) => this.#loop(caller, tasks, ended));
  }

  /** Resolves when the last call was answered. */
  async stop(): Promise<Called> {
    this.#stop.abort();
    await Promise.all(this.#loops);
    for (const caller of this.#callers) caller.close();
    return this.called;
  }

  async #loop(caller: Caller, tasks: readonly string[], ended: string): Promise<void> {
    for (let round = 0; !this.#stop.signal.aborted; round += 1) {
      const [method, request] = (
        [
          ["SendMessage", said(`until ${ended} 0`)],
          ["GetTask", { id: tasks[round % tasks.length] ?? "", historyLength: 0 }],
          ["ListTasks", { pageSize: 5 }],
        ] as const
      )[round % 3] ?? ["ListTasks", {}];
      await this.#twice(caller, method, request);
      await delay(BETWEEN_MS);
    }
  }

  async #twice(caller: Caller, method: string, request: JsonObject): Promise<void> {
    this.called.calls += 1;
    try {
      await caller.unary(method, request).catch((error: unknown) => {
        if (!isUnavailable(error)) throw error;
        this.called.repeated += 1;
        return caller.unary(method, request);
      });
    } catch (error) {
      this.called.failed.push(`${caller.binding} ${method}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

function isUnavailable(error: unknown): boolean {
  if (!(error instanceof CallFailed)) return false;
  const { code, httpStatus } = error.failure;
  return httpStatus === undefined ? code === UNAVAILABLE : httpStatus === 503;
}
