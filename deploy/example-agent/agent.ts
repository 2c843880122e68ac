/** An agent that tells the media type of each file name of a list. A replica that takes it over goes on where it stood. */
import { setTimeout as delay } from "node:timers/promises";
import mime from "mime";
import { type Agent, artifact, completed, textPart } from "throughline";

const agent: Agent = {
  card: {
    name: "Media types",
    description: "Tells the media type of each file name of a list.",
    version: "1.0.0",
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "types", name: "Types", description: "Tells media types", tags: ["files"], examples: ["notes.txt", "photo.jpg"] }],
  },
  resumable: true,
  async *run({ message, task, signal }) {
    const names = message.parts.flatMap(({ content }) => (content.case === "text" ? content.value.split("\n") : []));
    const done = task.artifacts[0]?.parts.length ?? 0;
    for (const [index, name] of names.entries()) {
      if (index < done) continue;
      await delay(200, undefined, { signal });
      const parts = [textPart(`${name}: ${mime.getType(name) ?? "unknown"}\n`)];
      yield artifact({ artifactId: "types", name: "types.txt", parts }, { append: index > 0, lastChunk: index === names.length - 1 });
    }
    yield completed(`${names.length} names`);
  },
};

export default agent;
