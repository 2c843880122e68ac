/** What a front adds to its upstream: the same calls through it, and directly. */
import { openDriver } from "../drivers/open.ts";
import type { Driver } from "../drivers/driver.ts";
import { type ServerProcess, startServer } from "../processes.ts";
import { FRONT, JS, OURS, type Program, PYTHON } from "../programs.ts";
import type { Pair, PairRow } from "../rows/pair-row.ts";
import { median } from "../quantile.ts";
import { repeat } from "../rows/repeat.ts";
import { completeWith, FRAMES_AROUND, SHORT_SEND, shortSend } from "../rows/task-stream.ts";
import type { ClientContext } from "./load.ts";

const CHUNKS = 1000;
const TURNS = 8;

/** One way to the agent. */
interface Way {
  readonly driver: Driver;
  /** Whose CPU counts. */
  readonly server: ServerProcess;
  readonly firstFrames: number[];
  readonly sends: number[];
  /** Sends and events per second, in each turn. */
  readonly many: number[];
  readonly streamed: number[];
  /** CPU of the server in microseconds, for each short send and for each event that was streamed. */
  readonly cpuOfSends: number[];
  readonly cpuOfEvents: number[];
}

/** Rows of a front before an upstream; all over gRPC. */
function frontRow(name: string, upstream: Program, what: string): PairRow<ClientContext> {
  const title = (measured: string): string => `${measured} through a front ÷ from ${what} itself`;
  return {
    name,
    ...(upstream === PYTHON && { needs: PYTHON.name }),
    metrics: [
      { key: "first", title: title("first frame, one at a time,"), unit: "ms", aim: { kind: "beyond-at-most", value: 1 } },
      { key: "send", title: title("short send, one at a time,"), unit: "ms", aim: { kind: "beyond-at-most", value: 1 } },
      { key: "many", title: title("short sends, 32 at once,"), unit: "sends/s", aim: { kind: "ratio-at-least", value: 0.7 } },
      { key: "streamed", title: title("one task of 1,000 chunks"), unit: "events/s", aim: { kind: "ratio-at-least", value: 0.7 } },
      { key: "cpuOfSends", title: `CPU of a front for a short send, one of 32 ÷ of ${what}`, unit: "µs/send" },
      { key: "cpuOfEvents", title: `CPU of a front for a chunk ÷ of ${what}`, unit: "µs/event" },
    ],
    async run({ quick, profileDir }) {
      await using stack = new AsyncDisposableStack();
      const behind = stack.use(await startServer(upstream, { profileDir }));
      // By its card where that says where it is.
      const { grpc = "", rest = "" } = behind.urls;
      const front = stack.use(await startServer(FRONT, { profileDir, args: [upstream === OURS ? rest : grpc] }));
      const ways = [front, behind].map((server): Way => {
        const driver = openDriver("grpc", server.urls, 4);
        stack.defer(() => driver.close());
        return { driver, server, firstFrames: [], sends: [], many: [], streamed: [], cpuOfSends: [], cpuOfEvents: [] };
      });
      // Often enough for all three to be compiled, however slow the upstream is: a server runs for days.
      for (const { driver } of ways) {
        await repeat({ workers: 32, ms: quick ? 100 : 90_000, max: 20_000 }, () => shortSend(driver));
        await repeat({ workers: 1, ms: quick ? 1 : 60_000, max: 100 }, () => chunks(driver));
      }
      for (let turn = 0; turn < (quick ? 1 : TURNS); turn += 1) {
        for (const way of ways) await one(way, quick ? 5 : 100);
        for (const way of ways) await load(way, quick ? 100 : 1000);
        for (const way of ways) await stream(way, quick ? 1 : 1500);
      }
      const [ours, baseline] = ways as [Way, Way];
      const pair = (of: (way: Way) => readonly number[]): Pair => ({ ours: median(of(ours)), baseline: median(of(baseline)) });
      return {
        first: pair(({ firstFrames }) => firstFrames),
        send: pair(({ sends }) => sends),
        many: pair(({ many }) => many),
        streamed: pair(({ streamed }) => streamed),
        cpuOfSends: pair(({ cpuOfSends }) => cpuOfSends),
        cpuOfEvents: pair(({ cpuOfEvents }) => cpuOfEvents),
      };
    },
  };
}

/** Short sends one after the other: how long until the first frame, and until the last. */
async function one({ driver, firstFrames, sends }: Way, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const begun = performance.now();
    const call = driver.send(SHORT_SEND);
    await call.opened;
    firstFrames.push(performance.now() - begun);
    await shortSend(driver, call);
    sends.push(performance.now() - begun);
  }
}

/** Short sends, 32 at once. */
async function load({ driver, server, many, cpuOfSends }: Way, ms: number): Promise<void> {
  const before = await server.stats(false);
  const begun = performance.now();
  const count = await repeat({ workers: 32, ms }, () => shortSend(driver));
  const seconds = (performance.now() - begun) / 1000;
  many.push(count / seconds);
  cpuOfSends.push(((await server.stats(false)).cpu - before.cpu) / count);
}

/** Tasks of many chunks, one after the other. */
async function stream({ driver, server, streamed, cpuOfEvents }: Way, ms: number): Promise<void> {
  const before = await server.stats(false);
  const begun = performance.now();
  const tasks = await repeat({ workers: 1, ms }, () => chunks(driver));
  const seconds = (performance.now() - begun) / 1000;
  streamed.push((tasks * CHUNKS) / seconds);
  cpuOfEvents.push(((await server.stats(false)).cpu - before.cpu) / (tasks * CHUNKS));
}

function chunks(driver: Driver): Promise<void> {
  return completeWith(driver, driver.send(`events=${CHUNKS} bytes=100 kind=artifact`), CHUNKS + FRAMES_AROUND);
}

export const frontBeforeOurs: PairRow<ClientContext> = frontRow("front-ours", OURS, "our own server");
export const frontBeforeJs: PairRow<ClientContext> = frontRow("front-js", JS, "@a2a-js/sdk");
export const frontBeforePython: PairRow<ClientContext> = frontRow("front-python", PYTHON, "a2a-sdk for Python");
