/** A server that is fuzzed, and good callers beside. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import { ScenarioAgent } from "../bindings/scenario-agent.ts";
import { GrpcCaller } from "../bindings/callers/grpc.ts";
import { RestCaller } from "../bindings/callers/rest.ts";
import type { Caller } from "../bindings/callers/caller.ts";
import { type RunningServer, serve, type ServeInit } from "../../src/server/serve.ts";

const QUIET = { grpcPort: 0, httpPort: 0, opsPort: 0, drainDelayMs: 0, streamGraceMs: 0, drainMs: 0, keepaliveMs: 60_000 };

/** How long a good send may take. */
const SEND_MS = 20_000;

/** A send of a text. */
export function sendOf(text: string): JsonObject {
  return { message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }] } };
}

/** A running server. */
export class Served implements AsyncDisposable {
  readonly server: RunningServer;
  readonly rest: RestCaller;
  readonly grpc: GrpcCaller;

  private constructor(server: RunningServer) {
    this.server = server;
    this.rest = new RestCaller(server.ports.http, {});
    this.grpc = new GrpcCaller(server.ports.grpc);
  }

  static async open(options: Partial<ServeInit> = {}): Promise<Served> {
    return new Served(await serve({ ...QUIET, maxBytes: 1024 * 1024, cacheBytes: 1024 * 1024, ...options, agent: new ScenarioAgent() }));
  }

  get callers(): readonly Caller[] {
    return [this.rest, this.grpc];
  }

  /** Sends a message, and answers the id of its task. */
  async send(text: string): Promise<string> {
    const { message } = await this.rest.unary("SendMessage", sendOf(text), { signal: AbortSignal.timeout(SEND_MS) });
    return (message["task"] as { id: string }).id;
  }

  /** Rejects where callers are not served. */
  async check(): Promise<void> {
    for (const caller of this.callers) {
      const { message } = await caller.unary("SendMessage", sendOf("complete"));
      const { status } = message["task"] as { status: { state: string } };
      assert.equal(status.state, "TASK_STATE_COMPLETED");
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const caller of this.callers) caller.close();
    await this.server.drain({ atOnce: true, skip: AbortSignal.abort() });
  }
}
