/** A server process whose agent floods on a word from the test, and which says what memory it holds. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, artifact, serve, textPart } from "../../src/index.ts";

/** Chunks of 64 kB that replace one artifact: together as many bytes as the flood has. */
const CHUNK = 64 * 1024;
const SAMPLE_EVERY = 400;

const gc = (globalThis as { gc?: () => void }).gc ?? ((): void => undefined);
const gate = Promise.withResolvers<void>();
let peak = 0;

async function sample(): Promise<void> {
  // What was just sent is let go before it is counted.
  for (let round = 0; round < 3; round += 1) {
    gc();
    await sleep(5);
  }
  const { heapUsed, external } = process.memoryUsage();
  peak = Math.max(peak, heapUsed + external);
}

const agent: Agent = {
  card: { name: "flood", description: "Emits as many bytes as it is asked for", version: "1.0.0" },
  async *run({ taskId, message }) {
    const bytes = Number(message.parts[0]?.content.value);
    process.send?.({ begun: taskId });
    await gate.promise;
    const chunks = Math.ceil(bytes / CHUNK);
    for (let index = 0; index < chunks; index += 1) {
      yield artifact({ artifactId: "flood", parts: [textPart(String(index % 10).repeat(CHUNK))] });
      if (index % SAMPLE_EVERY === SAMPLE_EVERY - 1) await sample();
    }
    await sample();
    process.send?.({ peak });
  },
};

const options = JSON.parse(process.argv[2] ?? "{}") as object;
const server = await serve({ grpcPort: 0, httpPort: 0, opsPort: 0, ...options, agent });
process.on("message", (word) => {
  if (word === "go") gate.resolve();
  else void server.drain({ atOnce: true, skip: AbortSignal.abort() }).then(() => process.exit(0));
});
process.send?.({ ports: server.ports });
