/**
 * Many readers of ticking tasks, over every binding: what each has missed or seen twice, and how long it was away. One half comes back by
 * position and is told what is new and nothing else; the other half knows of no positions and is told the task as it stands at once, so that
 * the moment when it is back can be seen.
 */
import { create } from "@bufbuild/protobuf";
import { AgentCardSchema, type StreamResponse } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AClient } from "../../src/client/a2a-client.ts";
import type { ClientBinding } from "../../src/client/client-options.ts";
import type { ServicePorts } from "./service.ts";

/** All that the client speaks. */
export const BINDINGS: readonly ClientBinding[] = ["GRPC", "HTTP+JSON", "JSONRPC", "CONNECT"];
const PORTS = { GRPC: "grpc", "HTTP+JSON": "http", JSONRPC: "http", CONNECT: "http2" } as const;
/** Streams of one client, which over HTTP/2 share its connection. */
const PER_CLIENT = 20;

/** What was seen so far, of all readers. */
export interface Seen {
  lost: number;
  doubled: number;
  /** Milliseconds from each lost connection to the task, for those who get it then. */
  readonly away: number[];
  /** How many events there were. */
  events: number;
}

/** Clients that read. */
export class Readers implements AsyncDisposable {
  readonly seen: Seen = { lost: 0, doubled: 0, away: [], events: 0 };
  readonly #clients: A2AClient[] = [];
  readonly #ends: Promise<number>[] = [];

  /** Opens `count` streams, shared out over tasks and bindings; resolves when each has its first event. */
  static async open(ports: ServicePorts, tasks: readonly string[], count: number): Promise<Readers> {
    const readers = new Readers();
    const first: Promise<void>[] = [];
    const size = Math.min(PER_CLIENT, tasks.length);
    for (let from = 0; from < count; from += size) {
      const binding = BINDINGS[(from / size) % BINDINGS.length] ?? "GRPC";
      const positions = Math.floor(from / size / BINDINGS.length) % 2 === 0;
      const gone = new Map<string, number>();
      const client = await A2AClient.connect(cardOf(binding, ports, positions), {
        bindings: [binding],
        reconnect: { attempts: 1000 },
        reconnecting: ({ taskId }) => {
          if (!positions && taskId !== undefined && !gone.has(taskId)) gone.set(taskId, performance.now());
        },
      });
      readers.#clients.push(client);
      for (let index = from; index < Math.min(count, from + size); index += 1)
        first.push(readers.#read(client, tasks[index % tasks.length] ?? "", gone));
    }
    await Promise.all(first);
    return readers;
  }

  /** Resolves with how many ticks each reader has seen, when all streams have ended with their tasks. */
  ended(): Promise<number[]> {
    return Promise.all(this.#ends);
  }

  #read(client: A2AClient, taskId: string, gone: Map<string, number>): Promise<void> {
    const begun = Promise.withResolvers<void>();
    const read = async (): Promise<number> => {
      let next: number | undefined;
      for await (const { event } of client.follow(taskId)) {
        const since = gone.get(taskId);
        if (since !== undefined) this.seen.away.push(performance.now() - since);
        gone.delete(taskId);
        this.seen.events += 1;
        next = this.#judge(event, next);
        begun.resolve();
      }
      return next ?? 0;
    };
    const end = read();
    end.catch((error: unknown) => begun.reject(error));
    this.#ends.push(end);
    return begun.promise;
  }

  /** Compares an event with the tick that is due. A whole task stands for all that it holds, and may not hold less than was seen. */
  #judge(event: StreamResponse["payload"], due: number | undefined): number | undefined {
    if (event.case === "task") {
      const held = event.value.artifacts[0]?.parts.length ?? 0;
      this.seen.lost += Math.max(0, (due ?? 0) - held);
      return held;
    }
    if (event.case !== "artifactUpdate") return due;
    for (const { content } of event.value.artifact?.parts ?? []) {
      const tick = Number(content.value);
      if (tick > (due ?? 0)) this.seen.lost += tick - (due ?? 0);
      if (tick < (due ?? 0)) this.seen.doubled += 1;
      due = Math.max(due ?? 0, tick + 1);
    }
    return due;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
  }
}

/** A card as a client needs it: where one binding is, and whether there are positions. */
export function cardOf(binding: ClientBinding, ports: ServicePorts, positions: boolean): ReturnType<typeof create<typeof AgentCardSchema>> {
  const port = ports[PORTS[binding]];
  const protocolBinding = binding === "CONNECT" ? "HTTP+JSON" : binding;
  const url = binding === "GRPC" ? `http://127.0.0.1:${port}` : `http://127.0.0.1:${port}${binding === "JSONRPC" ? "/jsonrpc" : ""}`;
  const extensions = positions ? [{ uri: "urn:throughline:a2a:log:v1" }] : [];
  return create(AgentCardSchema, {
    name: "ticking",
    version: "1",
    capabilities: { streaming: true, extensions },
    supportedInterfaces: [{ url, protocolBinding, protocolVersion: "1.0" }],
  });
}
