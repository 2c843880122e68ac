/** How callers of the run reach the replicas: any replica, any binding, again where a call has failed. */
import { fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { setTimeout as delay } from "node:timers/promises";
import { type Task, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { CallFailed, type Caller, type Stream } from "../bindings/callers/caller.ts";
import { GrpcCaller } from "../bindings/callers/grpc.ts";
import { JsonRpcCaller } from "../bindings/callers/json-rpc.ts";
import { RestCaller } from "../bindings/callers/rest.ts";
import type { Random } from "./random.ts";

/** Where a replica listens. */
export interface Endpoint {
  readonly replica: string;
  readonly grpc: number;
  readonly http: number;
}

/** A replica that has gone silent is given up after this long: the server's keep-alives come more often. */
const IDLE_MS = 4000;
const PING_MS = 2000;
/** A call that is not answered in this time has an unknown outcome. */
export const CALL_MS = 8000;

/** What the outcome of a call means for its caller. */
export type Outcome =
  /** The connection was lost or the server said that it cannot now: nothing is known, and it may be asked again. */
  | { readonly is: "away"; readonly error: unknown }
  /** The server has said no, for this reason. */
  | { readonly is: "refused"; readonly reason: string; readonly error: CallFailed };

const AGAIN = new Set([
  "STORE_UNAVAILABLE",
  "SERVER_DRAINING",
  "STREAM_DRAINED",
  "STREAM_STALLED",
  "DEADLINE_EXCEEDED",
  "CANCELLED",
  "RESOURCE_EXHAUSTED",
]);

/** What a call's error means. One without a reason of the server's is of the connection. */
export function outcomeOf(error: unknown): Outcome {
  if (!(error instanceof CallFailed)) return { is: "away", error };
  const { reason } = error.failure;
  return reason === undefined || AGAIN.has(reason) ? { is: "away", error } : { is: "refused", reason, error };
}

/** A reply, and how often it was asked for. */
export type Answer = { readonly is: "answered"; readonly message: JsonObject; readonly tries: number } | Refusal;
/** The server's no, and how often it was asked. */
type Refusal = Extract<Outcome, { is: "refused" }> & { readonly tries: number };

/** One caller's way to the replicas. */
export interface Connection {
  readonly caller: Caller;
  readonly endpoint: Endpoint;
}

/** The callers' side of the network. */
export class Clients {
  readonly #endpoints: () => readonly Endpoint[];
  readonly #callers = new Map<Endpoint, readonly Caller[]>();
  readonly #over: AbortSignal;
  /** Calls that failed and were made again. */
  again = 0;

  /** `over` ends all waiting: what is asked then is answered by an exception. */
  constructor(endpoints: () => readonly Endpoint[], over: AbortSignal) {
    this.#endpoints = endpoints;
    this.#over = over;
  }

  /** A replica and a binding, drawn. Waits where there is no replica. */
  async draw(random: Random): Promise<Connection> {
    for (;;) {
      this.#over.throwIfAborted();
      this.#forget();
      const endpoints = this.#endpoints();
      if (endpoints.length > 0) {
        const endpoint = random.pick(endpoints);
        return { endpoint, caller: random.pick(this.#callersOf(endpoint)) };
      }
      await delay(50, undefined, { signal: this.#over });
    }
  }

  /** Calls until it is answered or refused, each time another replica. */
  async ask(random: Random, method: string, request: JsonObject, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    for (let tries = 1; ; tries += 1) {
      const { caller } = await this.draw(random);
      try {
        const signal = AbortSignal.any([AbortSignal.timeout(CALL_MS), this.#over]);
        const { message } = await caller.unary(method, request, { signal, headers });
        return { is: "answered", message, tries };
      } catch (error) {
        const outcome = outcomeOf(error);
        if (outcome.is === "refused") return { ...outcome, tries };
        this.again += 1;
        await this.pause(random, tries);
      }
    }
  }

  /** Opens a stream somewhere. */
  async stream(
    random: Random,
    method: string,
    request: JsonObject,
    headers: Readonly<Record<string, string>>,
  ): Promise<{ readonly stream: Stream; readonly connection: Connection }> {
    const connection = await this.draw(random);
    return { stream: connection.caller.stream(method, request, { headers }), connection };
  }

  /** The task as GetTask answers it; undefined where there is none. */
  async task(random: Random, id: string): Promise<Task | undefined> {
    const answer = await this.ask(random, "GetTask", { id });
    if (answer.is === "answered") return fromJson(TaskSchema, answer.message as JsonValue);
    if (answer.reason === "TASK_NOT_FOUND") return undefined;
    throw answer.error;
  }

  /** A wait before the next try, longer the more there were. */
  async pause(random: Random, tries: number): Promise<void> {
    await delay(random.between(10, Math.min(50 * tries, 500)), undefined, { signal: this.#over });
  }

  close(): void {
    for (const callers of this.#callers.values()) for (const caller of callers) caller.close();
    this.#callers.clear();
  }

  #callersOf(endpoint: Endpoint): readonly Caller[] {
    const known = this.#callers.get(endpoint);
    if (known !== undefined) return known;
    const idle = { idleMs: IDLE_MS };
    const callers = [
      new GrpcCaller(endpoint.grpc, { "grpc.keepalive_time_ms": PING_MS, "grpc.keepalive_timeout_ms": PING_MS }),
      new RestCaller(endpoint.http, idle),
      new JsonRpcCaller(endpoint.http, idle),
    ];
    this.#callers.set(endpoint, callers);
    return callers;
  }

  /** Closes what leads to replicas that are gone. */
  #forget(): void {
    const there = new Set(this.#endpoints());
    for (const [endpoint, callers] of this.#callers) {
      if (there.has(endpoint)) continue;
      this.#callers.delete(endpoint);
      for (const caller of callers) caller.close();
    }
  }
}
