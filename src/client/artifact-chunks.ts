/** An artifact as a stream of what its parts hold, while it grows. */
import type { Artifact, Part, Task } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AError } from "./a2a-error.ts";

/** Reads the parts of one artifact in order, each once, however often the stream below began anew. `pick` answers undefined for other kinds. */
export async function* artifactChunks<T>(
  events: AsyncIterable<{ readonly task: Task | undefined; readonly incomplete: ReadonlySet<string> }>,
  artifactId: string | undefined,
  pick: (part: Part) => T | undefined,
): AsyncGenerator<T, void> {
  const reader = new ArtifactReader();
  let id = artifactId;
  for await (const { task, incomplete } of events) {
    id ??= task?.artifacts[0]?.artifactId;
    const artifact = task?.artifacts.find((one) => one.artifactId === id);
    if (artifact === undefined) continue;
    if (incomplete.has(artifact.artifactId)) throw new A2AError(new Error(`parts of the artifact ${artifact.artifactId} are missing`));
    const parts = reader.take(artifact);
    if (parts === undefined) {
      throw new A2AError(new Error(`the agent has replaced the artifact ${artifact.artifactId}, which was read in part`));
    }
    for (const part of parts) {
      const piece = pick(part);
      if (piece !== undefined) yield piece;
    }
  }
}

/** How far one artifact has been read. */
export class ArtifactReader {
  #read = 0;
  #last: Part | undefined;

  /** The parts that have not been taken yet, in order; undefined where the agent has replaced those that were. */
  take({ parts }: Artifact): readonly Part[] | undefined {
    if (parts.length < this.#read || (this.#read > 0 && !alike(parts[this.#read - 1], this.#last))) return undefined;
    const fresh = parts.slice(this.#read);
    this.#read = parts.length;
    this.#last = parts.at(-1);
    return fresh;
  }
}

/** Whether two parts say the same, as far as a reader has noticed: after a cut they are other objects. */
function alike(a: Part | undefined, b: Part | undefined): boolean {
  if (a === b) return true;
  if (a?.content.case !== b?.content.case) return false;
  const [left, right] = [a?.content.value, b?.content.value];
  if (left instanceof Uint8Array && right instanceof Uint8Array) return Buffer.from(left).equals(right);
  return typeof left === "string" ? left === right : true;
}
