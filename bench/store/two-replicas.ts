/** What it costs that the streams of a task hang on another replica than its turn. */
import { openDriver } from "../drivers/open.ts";
import type { Driver } from "../drivers/driver.ts";
import { type ServerProcess, startServer } from "../processes.ts";
import { OURS } from "../programs.ts";
import { deliver, openBoth } from "../rows/fan-out.ts";
import type { Measured } from "../rows/row.ts";
import type { StoreContext, StoreRow } from "./store-row.ts";

/** In which all streams are opened, on a replica that has served nothing before. */
const START_MS = 5_000;

export const twoReplicas: StoreRow = {
  name: "two-replicas",
  metrics: [
    {
      key: "cpu",
      title: "500 gRPC streams on one task, 100 events/s: CPU of two replicas together ÷ of one with all streams",
      unit: "µs/event",
      aim: { kind: "ratio-at-most", value: 1.25 },
    },
  ],
  async run(context) {
    const two = await cpuPerEvent(context, 2);
    return { cpu: { ours: two, baseline: await cpuPerEvent(context, 1) } };
  },
};

async function cpuPerEvent({ redis, quick, profileDir }: StoreContext, replicas: number): Promise<number> {
  await using stack = new AsyncDisposableStack();
  const servers: ServerProcess[] = [];
  for (let count = 0; count < replicas; count++) servers.push(stack.use(await startServer(OURS, { redisUrl: redis.url, profileDir })));
  const cpu = async (): Promise<number> =>
    (await Promise.all(servers.map((server) => server.stats(false)))).reduce((sum, one) => sum + one.cpu, 0);
  const open = (connections: number, replica = 0): Driver => {
    const driver = openDriver("grpc", (servers[replica % replicas] as ServerProcess).urls, connections);
    stack.defer(() => driver.close());
    return driver;
  };
  const measure = async <T>(work: () => Promise<T>): Promise<Measured<T>> => {
    const before = await cpu();
    const result = await work();
    return { result, seconds: Number.NaN, serverCpu: (await cpu()) - before, loadCpu: Number.NaN };
  };
  const streams = quick ? 50 : 500;
  const drivers = openBoth({ open }, streams);
  await deliver({ quick, measure }, drivers, { streams, events: quick ? 10 : 100, delay: 10, start: START_MS });
  const { delivered, cost } = await deliver({ quick, measure }, drivers, { streams, events: quick ? 50 : 400, delay: 10, start: START_MS });
  return cost.serverCpu / delivered;
}
