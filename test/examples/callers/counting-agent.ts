/** An agent that counts, as far as its pace allows. Cut off, it goes on after the last number that its log has. */
import { type Agent, type AgentEvent, artifact, completed, textPart, type Turn, working } from "../../../src/index.ts";
import type { Pace } from "../../e2e/pace.ts";

/** A message is how far to count, and may name the bytes of each number: `60` or `2 4000000`. */
export function countingAgent(pace: Pace): Agent {
  return {
    card: { name: "counting", description: "Counts", version: "1" },
    resumable: true,
    async *run({ message, task, signal, resumed }: Turn): AsyncGenerator<AgentEvent> {
      const content = message.parts[0]?.content;
      const [last = 0, bytes = 0] = content?.case === "text" ? content.value.split(" ").map(Number) : [];
      yield working(resumed ? "going on" : "counting");
      for (let number = (task.artifacts[0]?.parts.length ?? 0) + 1; number <= last; number += 1) {
        await pace.reach(number, signal);
        const parts = [textPart(`${number} `.padStart(bytes))];
        yield artifact({ artifactId: "numbers", name: "numbers.txt", parts }, { append: number > 1, lastChunk: number === last });
      }
      yield completed("done");
    },
  };
}
