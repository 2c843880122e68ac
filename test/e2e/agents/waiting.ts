/** An agent that works until its caller cancels, for tests of what happens around it. */
import { type Agent, canceled, type Turn, working } from "../../../src/index.ts";

const agent: Agent = {
  card: {
    name: "waiting",
    description: "Waits",
    version: "1",
    skills: [{ id: "wait", name: "Wait", description: "Waits", tags: [], examples: ["that's it"] }],
  },
  async *run({ signal }: Turn) {
    yield working("waiting");
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    yield canceled();
  },
};
export default agent;
