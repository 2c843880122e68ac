/** An agent for load generators: the message says how many updates it yields, how large, and how fast. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, artifact, completed, type Message, rejected, textPart, working } from "../../src/index.ts";
import { BadScript, type BenchScript, pacer, parseScript, updateText } from "./bench-script.ts";

const ARTIFACT_ID = "bench";

/** Yields working, the updates of its script (chunks of one artifact, or status messages), and completed. Rejects what is no script. */
export const benchAgent: Agent = {
  card: {
    name: "bench",
    description: "Emits as many updates as the message asks for",
    version: "1.0.0",
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [
      {
        id: "bench",
        name: "bench",
        description: "Emits updates; each text begins with the time at which it was made, t=<process.hrtime.bigint()>",
        tags: ["bench"],
        examples: ["events=100 bytes=1000 kind=artifact delay=10 start=0 hold=0"],
      },
    ],
  },
  async *run({ message, signal }) {
    const script = scriptOf(message);
    if (script instanceof BadScript) {
      yield rejected(script.message);
      return;
    }
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

function scriptOf({ parts }: Message): BenchScript | BadScript {
  const text = parts.map(({ content }) => (content.case === "text" ? content.value : "")).join(" ");
  try {
    return parseScript(text);
  } catch (error) {
    if (error instanceof BadScript) return error;
    throw error;
  }
}
