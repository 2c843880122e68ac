/** The bench agent, as an agent of ours. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Agent } from "../src/core/agent.ts";
import { artifact, completed, textPart, working } from "../src/core/events.ts";
import { pacer, parseScript, updateText } from "./agent-words.ts";

const ARTIFACT_ID = "bench";

export const agent: Agent = {
  card: {
    name: "bench",
    description: "Emits as many updates as the message asks for",
    version: "1.0.0",
    capabilities: { streaming: true },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "bench", name: "bench", description: "Emits updates", tags: ["bench"] }],
  },
  async *run({ message, signal }) {
    const script = parseScript(message.parts.map(({ content }) => (content.case === "text" ? content.value : "")).join(" "));
    const pause = (ms: number): Promise<void> => sleep(ms, undefined, { signal });
    if (script.silent > 0) await pause(script.silent);
    yield working();
    if (script.start > 0) await pause(script.start);
    const beat = pacer(script.delay, signal);
    for (let index = 0; index < script.events; index++) {
      if (index > 0 && script.delay > 0) await beat();
      const text = updateText(script.bytes);
      yield script.kind === "status"
        ? working(text)
        : artifact({ artifactId: ARTIFACT_ID, parts: [textPart(text)] }, { append: index > 0, lastChunk: index === script.events - 1 });
    }
    if (script.hold > 0) await pause(script.hold);
    yield completed();
  },
};
