/**
 * The agent of a soak: `ticks 20 50` says 20 ticks, one every 50 ms; `ask` asks and takes the answer for what it is told to do; `figures` tells
 * what its own process holds.
 */
import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Agent, type AgentEvent, artifact, completed, inputRequired, textPart, type Turn } from "../../src/index.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** What the process holds once garbage is collected. */
async function figures(): Promise<string> {
  for (let round = 0; round < 2; round += 1) {
    collect();
    // Finalizers run between two rounds.
    await delay(1);
  }
  const { rss, heapUsed, external } = process.memoryUsage();
  const handles = process.getActiveResourcesInfo().filter((name) => name !== "Immediate" && name !== "Timeout");
  const timers = process.getActiveResourcesInfo().filter((name) => name === "Timeout");
  return JSON.stringify({ pid: process.pid, rss, heap: heapUsed + external, handles: handles.length, timers: timers.length });
}

const agent: Agent = {
  card: { name: "soak", description: "Ticks", version: "1", skills: [{ id: "ticks", name: "Ticks", description: "Ticks", tags: [] }] },
  resumable: true,
  async *run({ message, task, signal }: Turn): AsyncGenerator<AgentEvent> {
    const content = message.parts[0]?.content;
    const [word = "", count, ms] = content?.case === "text" ? content.value.split(" ") : [];
    if (word === "figures") yield artifact({ artifactId: "figures", parts: [textPart(await figures())] });
    if (word === "ask") {
      yield inputRequired("how many?");
      return;
    }
    for (let tick = task.artifacts[0]?.parts.length ?? 0; tick < Number(count ?? 0); tick += 1) {
      await delay(Number(ms), undefined, { signal });
      yield artifact({ artifactId: "ticks", parts: [textPart(`${tick}`)] }, { append: tick > 0 });
    }
    yield completed();
  },
};
export default agent;
