/** An agent that ticks: `ticks 100 20` says 100 ticks, one every 20 ms. Cut off, it goes on after the last tick that its log has. */
import { setTimeout as delay } from "node:timers/promises";
import { type Agent, type AgentEvent, artifact, completed, textPart, type Turn, working } from "../../../src/index.ts";

const agent: Agent = {
  card: {
    name: "ticking",
    description: "Ticks",
    version: "1",
    skills: [{ id: "ticks", name: "Ticks", description: "Ticks", tags: [], examples: ["ticks 100 20"] }],
  },
  resumable: true,
  async *run({ message, task, signal, resumed }: Turn): AsyncGenerator<AgentEvent> {
    const content = message.parts[0]?.content;
    const [, count = 0, ms = 0] = content?.case === "text" ? content.value.split(" ").map(Number) : [];
    const done = task.artifacts[0]?.parts.length ?? 0;
    yield working(resumed ? "resumed" : "begun");
    for (let tick = done; tick < count; tick += 1) {
      await delay(ms, undefined, { signal });
      yield artifact({ artifactId: "ticks", parts: [textPart(`${tick} `)] }, { append: tick > 0, lastChunk: tick === count - 1 });
    }
    yield completed(`${count} ticks`);
  },
};
export default agent;
