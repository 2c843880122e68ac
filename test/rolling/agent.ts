/**
 * An agent that ticks until a file is there: `until /path 20` says a tick every 20 ms. Cut off, it goes on after the last tick of its log. `ask`
 * asks first, and takes the answer for what it is told to do.
 */
import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { type Agent, artifact, completed, inputRequired, textPart } from "../../src/index.ts";

const agent: Agent = {
  card: { name: "ticking", description: "Ticks", version: "1", skills: [{ id: "ticks", name: "Ticks", description: "Ticks", tags: [] }] },
  resumable: true,
  async *run({ message, task, signal }) {
    const content = message.parts[0]?.content;
    const [word, path = "/", ms = "0"] = content?.case === "text" ? content.value.split(" ") : [];
    if (word === "ask") {
      yield inputRequired("until when?");
      return;
    }
    for (let tick = task.artifacts[0]?.parts.length ?? 0; ; tick += 1) {
      const last = existsSync(path);
      yield artifact({ artifactId: "ticks", parts: [textPart(`${tick}`)] }, { append: tick > 0, lastChunk: last });
      if (last) break;
      await delay(Number(ms), undefined, { signal });
    }
    yield completed("done");
  },
};
export default agent;
