/** A server process that says what of its heap is left after minor collections. */
import { type Agent, serve } from "../../../src/index.ts";

const { gc } = globalThis as { gc?: (options?: { type: "minor" }) => void };

const agent: Agent = {
  card: { name: "finished", description: "Has no tasks", version: "1.0.0" },
  async *run() {},
};

const server = await serve({ grpcPort: 0, httpPort: 0, opsPort: 0, agent });
process.on("message", (word) => {
  if (word === "end") void server.drain({ atOnce: true, skip: AbortSignal.abort() }).then(() => process.exit(0));
  else process.send?.({ heapUsed: heapUsed(word === "warm") });
});
process.send?.({ ports: server.ports });

function heapUsed(afterMajor: boolean): number {
  if (afterMajor) gc?.();
  // What lives through two of them is old.
  for (let round = 0; round < 4; round += 1) gc?.({ type: "minor" });
  return process.memoryUsage().heapUsed;
}
