/** What an event costs whoever calls by `throughline/client`, beside grpc-js alone. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { A2AService, Role, SendMessageRequestSchema, type StreamResponse, StreamResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AClient } from "../../src/client/a2a-client.ts";
import type { ClientBinding } from "../../src/client/client-options.ts";
import { VERSION_HEADER } from "../drivers/driver.ts";
import { startServer } from "../processes.ts";
import { OURS } from "../programs.ts";
import type { Pair, PairRow } from "../rows/pair-row.ts";
import type { ClientContext } from "./load.ts";

const EVENTS = 1_000;
/** Tasks that are read for nothing at first, and then in turns by one and the other. */
const WARM = 40;
const TURNS = 5;
const TASKS_PER_TURN = 20;
const BINDINGS: readonly ClientBinding[] = ["GRPC", "HTTP+JSON", "JSONRPC", "CONNECT"];

export const eventCost: PairRow<ClientContext> = {
  name: "client-events",
  metrics: BINDINGS.map((binding) => ({
    key: binding,
    title: `throughline/client over ${binding}, tasks of 1,000 chunks: its CPU ÷ that of bare grpc-js`,
    unit: "µs/event",
    aim: { kind: "ratio-at-most", value: 1.5 },
  })),
  async run({ quick, profileDir }) {
    await using server = await startServer(OURS, { profileDir });
    const { grpc = "", rest = "" } = server.urls;
    const figures: Record<string, Pair> = {};
    for (const binding of BINDINGS) {
      // By the server's own card: with its extensions, as everybody calls it.
      await using client = await A2AClient.connect(rest, { bindings: [binding] });
      using bare = new BareClient(grpc);
      const read = async (events: AsyncIterable<unknown>): Promise<number> => {
        let count = 0;
        for await (const _ of events) count += 1;
        return count;
      };
      const text = `events=${quick ? 100 : EVENTS} bytes=100 kind=artifact`;
      figures[binding] = await compare(
        () => read(client.send(text)),
        () => read(bare.send(text)),
        quick,
      );
    }
    return figures;
  },
};

/** The CPU of this process for each event of these calls, in microseconds. They take turns: other work on the machine hits both. */
async function compare(ours: () => Promise<number>, baseline: () => Promise<number>, quick: boolean): Promise<Pair> {
  const [warm, turns] = quick ? [1, 2] : [WARM, TURNS];
  await spent(ours, warm);
  await spent(baseline, warm);
  globalThis.gc?.();
  const sums = { ours: { cpu: 0, events: 0 }, baseline: { cpu: 0, events: 0 } };
  for (let turn = 0; turn < turns; turn += 1) {
    for (const [side, call] of [["ours", ours] as const, ["baseline", baseline] as const]) {
      const { cpu, events } = await spent(call, TASKS_PER_TURN);
      sums[side].cpu += cpu;
      sums[side].events += events;
    }
  }
  return { ours: sums.ours.cpu / sums.ours.events, baseline: sums.baseline.cpu / sums.baseline.events };
}

async function spent(call: () => Promise<number>, times: number): Promise<{ readonly cpu: number; readonly events: number }> {
  const before = process.cpuUsage();
  let events = 0;
  for (let count = 0; count < times; count += 1) events += await call();
  const { user, system } = process.cpuUsage(before);
  return { cpu: user + system, events };
}

/** As small as a client of gRPC gets that reads its messages. */
class BareClient implements Disposable {
  readonly #client: Client;
  readonly #metadata = new Metadata();

  constructor(address: string) {
    this.#client = new Client(address, credentials.createInsecure());
    for (const [name, value] of Object.entries(VERSION_HEADER)) this.#metadata.set(name, value);
  }

  send(text: string): AsyncIterable<StreamResponse> {
    const parts = [{ content: { case: "text" as const, value: text } }];
    const request = create(SendMessageRequestSchema, { message: { messageId: crypto.randomUUID(), role: Role.USER, parts } });
    return this.#client.makeServerStreamRequest(
      `/${A2AService.typeName}/SendStreamingMessage`,
      (bytes: Buffer) => bytes,
      (bytes: Buffer) => fromBinary(StreamResponseSchema, bytes),
      Buffer.from(toBinary(SendMessageRequestSchema, request)),
      this.#metadata,
    );
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}
