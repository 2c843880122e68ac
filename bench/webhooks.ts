/**
 * `npm run bench:webhooks [-- --redis URL --quick]`: what webhooks do to streams. Tasks say something at a pace, and one stream follows each; the time from there to its
 * reader is compared in three conditions that take turns, each with a server of its own: without webhooks, with receivers that answer as they should, and
 * with receivers that fail, hang, answer slowly or without end, close, redirect or talk nonsense. Prints p50 and p99 of each, of all rounds together,
 * and what the server's heap comes to after collecting its garbage. All options of webhooks are the defaults.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { A2AClient } from "../src/client/index.ts";
import type { Turn } from "../src/core/agent.ts";
import { artifact, completed, textPart } from "../src/core/events.ts";
import { serve } from "../src/server/serve.ts";
import { Random } from "../test/chaos/random.ts";
import { Exchange, MANNERS } from "../test/chaos/webhook-manners.ts";
import { AS_IN_IMAGE } from "./image-options.ts";
import { quantile } from "./quantile.ts";

const { values } = parseArgs({
  options: {
    redis: { type: "string" },
    quick: { type: "boolean", default: false },
    role: { type: "string" },
  },
});
const { quick } = values;
/** At once. */
const TASKS = quick ? 4 : 40;
/** What each says in a round. */
const CHUNKS = quick ? 10 : 60;
const PACE_MS = 100;
const ROUNDS = quick ? 1 : 10;
/** They begin one after the other within so long. */
const SPREAD_MS = quick ? 100 : 2000;
const HOOKS_EACH = 2;
/** Sends before anything is measured. */
const WARM_UP = quick ? 1 : 20;
const QUIET_MS = 200;

const SIDES = {
  "no webhooks": [],
  "good receivers": ["good"],
  "bad receivers": ["failing", "hanging", "closing", "slow", "flaky", "endless body", "garbage", "redirecting"],
} as const;
type Side = keyof typeof SIDES;
const NAMES = Object.keys(SIDES) as Side[];

/** Milliseconds since 1970, with their fractions: all processes have the same clock. */
function now(): number {
  return performance.timeOrigin + performance.now();
}

async function beServer(): Promise<void> {
  const agent = {
    card: { name: "Pace", description: "Says the time.", version: "1", defaultInputModes: [], defaultOutputModes: [], skills: [] },
    async *run({ message }: Turn) {
      const warm = message.parts.some(({ content }) => content.value === "warm up");
      for (let chunk = 0; chunk < CHUNKS; chunk += 1) {
        await delay(warm ? 0 : PACE_MS);
        yield artifact({ artifactId: "times", parts: [textPart(String(now()))] }, { append: chunk > 0 });
      }
      yield completed();
    },
  };
  const push = { enabled: true, allow: ["127.0.0.0/8"] };
  const ports = { grpcPort: 0, httpPort: 0, opsPort: 0 };
  const redis = values.redis === undefined ? {} : { redis: { url: values.redis, prefix: `webhooks-${process.pid}` } };
  const server = await serve({ agent, push, ...ports, ...redis });
  process.send?.(server.ports.http);
  process.on("message", () => {
    globalThis.gc?.();
    process.send?.(process.memoryUsage().heapUsed);
  });
}

async function beReceivers(): Promise<void> {
  const random = new Random("webhooks");
  const begun = performance.now();
  let count = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    count += 1;
    response.on("error", () => undefined);
    request.on("error", () => undefined).resume();
    await once(request, "close").catch(() => undefined);
    const manner = decodeURIComponent(request.url?.slice(1) ?? "");
    MANNERS[manner]?.act(new Exchange(request, "", response), random, performance.now() - begun);
  };
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => void answer(request, response));
  server.listen(0, "0.0.0.0", () => process.send?.((server.address() as AddressInfo).port));
  process.on("message", () => process.send?.(count));
}

function start(role: string): ChildProcess {
  return fork(import.meta.filename, ["--role", role, ...process.argv.slice(2)], {
    execArgv: role === "server" ? ["--expose-gc", ...AS_IN_IMAGE] : [],
  });
}

async function ask(child: ChildProcess): Promise<number> {
  child.send("tell");
  const [answer] = (await once(child, "message")) as [number];
  return answer;
}

/** Follows a task from its send to its end; answers how long each chunk was under way, in milliseconds. */
async function follow(client: A2AClient, text: string, urls: readonly string[]): Promise<number[]> {
  const lags: number[] = [];
  const [first, ...others] = urls;
  const configuration = first === undefined ? {} : { taskPushNotificationConfig: { url: first } };
  const run = client.send(text, { configuration });
  for await (const { event } of run) {
    const at = now();
    if (event.case === "task") {
      for (const url of others) void client.createPushConfig({ taskId: event.value.id, url });
    }
    if (event.case !== "artifactUpdate") continue;
    for (const { content } of event.value.artifact?.parts ?? []) if (content.case === "text") lags.push(at - Number(content.value));
  }
  return lags;
}

/** Resolves when nothing has come to the receivers for a while. */
async function settled(receivers: ChildProcess): Promise<void> {
  for (let [came, before] = [await ask(receivers), -1]; came !== before; [came, before] = [await ask(receivers), came])
    await delay(QUIET_MS);
}

/** What one round came to. */
interface Round {
  readonly lags: readonly number[];
  readonly requests: number;
  readonly heapMiB: number;
}

let hooks = 0;

/** Each its own host, as those of many customers are. */
function address(port: number, manner: string): string {
  hooks += 1;
  return `http://127.1.${(hooks >> 8) & 255}.${hooks & 255}:${port}/${encodeURIComponent(manner)}`;
}

async function round(side: Side): Promise<Round> {
  const [server, receivers] = [start("server"), start("receivers")];
  const [[http], [port]] = (await Promise.all([once(server, "message"), once(receivers, "message")])) as [[number], [number]];
  await using client = await A2AClient.connect(`http://127.0.0.1:${http}`);
  for (let send = 0; send < WARM_UP; send += 1) await follow(client, "warm up", [address(port, "good")]);
  await settled(receivers);
  const manners: readonly string[] = SIDES[side];
  const urls = (): string[] =>
    manners.length === 0 ? [] : Array.from({ length: HOOKS_EACH }, () => address(port, manners[hooks % manners.length] as string));
  const before = await ask(receivers);
  const each = await Promise.all(
    Array.from({ length: TASKS }, async (_, nth) => delay((nth * SPREAD_MS) / TASKS).then(() => follow(client, "go", urls()))),
  );
  const [requests, heap] = [(await ask(receivers)) - before, await ask(server)];
  for (const child of [server, receivers]) child.kill("SIGKILL");
  return { lags: each.flat(), requests, heapMiB: heap / 2 ** 20 };
}

async function main(): Promise<void> {
  const all = new Map<Side, Round[]>(NAMES.map((side) => [side, []]));
  for (let at = 0; at < ROUNDS; at += 1) {
    for (let turn = 0; turn < NAMES.length; turn += 1) {
      const side = NAMES[(at + turn) % NAMES.length] as Side;
      all.get(side)?.push(await round(side));
    }
  }
  let base = Number.NaN;
  for (const [side, rounds] of all) {
    const lags = rounds.flatMap((one) => one.lags);
    const [p50, p99] = [quantile(lags, 0.5), quantile(lags, 0.99)];
    if (side === "no webhooks") base = p99;
    const requests = rounds.reduce((sum, one) => sum + one.requests, 0);
    const heap = quantile(
      rounds.map((one) => one.heapMiB),
      0.5,
    );
    process.stdout.write(
      `${side}: p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms (${(p99 / base).toFixed(2)}x) of ${lags.length} chunks; ${requests} requests to receivers; heap ${heap.toFixed(1)} MiB\n`,
    );
  }
}

await (values.role === "server" ? beServer() : values.role === "receivers" ? beReceivers() : main());
