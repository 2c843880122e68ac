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

const SCRIPT = "events=1000 bytes=100 kind=artifact";
/** Tasks that each side reads for nothing at first, and how many it then reads in each of its turns. */
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
    const [text, warm, turns] = quick ? ["events=100 bytes=100 kind=artifact", 1, 1] : [SCRIPT, WARM, TURNS];
    await using opened = new AsyncDisposableStack();
    const bare = opened.use(new BareClient(grpc));
    const sides = [{ call: () => read(bare.send(text)), cpu: 0, events: 0 }];
    for (const binding of BINDINGS) {
      // By the server's own card: with its extensions, as everybody calls it.
      const client = opened.use(await A2AClient.connect(rest, { bindings: [binding] }));
      sides.push({ call: () => read(client.send(text)), cpu: 0, events: 0 });
    }
    for (const { call } of sides) await spent(call, warm);
    globalThis.gc?.();
    // In turns: other work on the machine hits all of them.
    for (let turn = 0; turn < turns; turn += 1) {
      for (const side of sides) {
        const { cpu, events } = await spent(side.call, TASKS_PER_TURN);
        side.cpu += cpu;
        side.events += events;
      }
    }
    const [baseline = NaN, ...ours] = sides.map(({ cpu, events }) => cpu / events);
    return Object.fromEntries(BINDINGS.map((binding, index): [string, Pair] => [binding, { ours: ours[index] ?? NaN, baseline }]));
  },
};

async function read(events: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const _ of events) count += 1;
  return count;
}

/** The CPU of this process for so many calls, in microseconds, and the events that they brought. */
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
