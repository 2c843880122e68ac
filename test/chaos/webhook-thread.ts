/** The receivers' own thread: what they do takes no time of those who measure. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { parentPort } from "node:worker_threads";
import { Random } from "./random.ts";
import { Exchange, type Kept, MANNERS } from "./webhook-manners.ts";

/** What the thread is told: of a new receiver, or to say what has come. */
export type Told = { readonly open: string; readonly manner: string; readonly seed: string } | "tell";
/** What it says: first its port, then what has come, by receiver. */
export type Said = { readonly port: number } | { readonly kept: ReadonlyMap<string, readonly Kept[]> };

interface Receiver {
  readonly manner: string;
  readonly random: Random;
  readonly begun: number;
  readonly kept: Kept[];
}

const receivers = new Map<string, Receiver>();

async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer);
  } catch {
    return;
  }
  response.on("error", () => undefined);
  const receiver = receivers.get(request.url?.slice(1) ?? "");
  if (receiver === undefined) return;
  const exchange = new Exchange(request, Buffer.concat(chunks).toString(), response);
  receiver.kept.push(exchange.kept);
  MANNERS[receiver.manner]?.act(exchange, receiver.random, performance.now() - receiver.begun);
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
const say = (said: Said): void => parentPort?.postMessage(said);
const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => void take(request, response));
parentPort?.on("message", (told: Told) => {
  if (told === "tell") say({ kept: new Map([...receivers].map(([id, { kept }]) => [id, kept])) });
  else receivers.set(told.open, { manner: told.manner, random: new Random(told.seed), begun: performance.now(), kept: [] });
});
server.listen(0, "0.0.0.0", () => say({ port: (server.address() as AddressInfo).port }));
