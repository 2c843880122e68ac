/** Shows a task while it runs: to people, or to machines. */
import { create, type JsonObject, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { ArtifactReader } from "../client/artifact-chunks.ts";
import { type Message, MessageSchema, type Part, type RunEvent, StreamResponseSchema, type Task, TaskSchema } from "../client/index.ts";
import { isAtRest, stateOf } from "../core/task.ts";
import { say, write, writeJsonLine } from "./output.ts";
import { messageText, partText, statusText } from "./texts.ts";

/** What a run is shown by. */
export interface RunPrinter {
  event(event: RunEvent): Promise<void>;
  /** What is known when the run is left, at its end or before. */
  end(known: Task | Message | undefined, incomplete: ReadonlySet<string>): Promise<void>;
}

/** The artifacts as they grow, and nothing else, on stdout; what happens on stderr. */
export class PeoplePrinter implements RunPrinter {
  readonly #readers = new Map<string, ArtifactReader>();
  readonly #incomplete = new Set<string>();
  #artifact: string | undefined;
  #named = false;
  #status = "";

  async event({ event, task, incomplete }: RunEvent): Promise<void> {
    if (event.case === "message") return this.#message(event.value, task);
    if (task === undefined) return;
    if (!this.#named) say(`task ${task.id}`, { dim: true });
    this.#named = true;
    await this.#grow(task);
    for (const id of incomplete) {
      if (!this.#incomplete.has(id)) say(`parts of the artifact ${id} may be missing: the agent cannot say what it sent meanwhile`);
      this.#incomplete.add(id);
    }
    this.#tell(task);
  }

  async end(): Promise<void> {}

  async #message(message: Message, task: Task | undefined): Promise<void> {
    const text = messageText(message);
    if (task === undefined) await write(text.endsWith("\n") ? text : `${text}\n`);
    else say(text);
  }

  #tell(task: Task): void {
    const status = `${stateOf(task)} ${task.status?.message?.messageId}`;
    if (status !== this.#status) say(statusText(task), { dim: !isAtRest(stateOf(task)) });
    this.#status = status;
  }

  async #grow({ artifacts }: Task): Promise<void> {
    for (const artifact of artifacts) {
      const { artifactId: id } = artifact;
      let parts = this.#reader(id).take(artifact);
      if (parts === undefined) {
        say(`the agent has replaced the artifact ${id}: here it is anew`);
        this.#readers.delete(id);
        parts = this.#reader(id).take(artifact) ?? [];
      }
      if (parts.length === 0) continue;
      if (this.#artifact !== id) say(`artifact ${artifact.name || id}`, { dim: true });
      this.#artifact = id;
      for (const part of parts) await writePart(part);
    }
  }

  #reader(id: string): ArtifactReader {
    const reader = this.#readers.get(id) ?? new ArtifactReader();
    this.#readers.set(id, reader);
    return reader;
  }
}

/** A line `{"event": …}` for each event, and a last one with the task or the message. */
export class JsonPrinter implements RunPrinter {
  event({ event }: RunEvent): Promise<void> {
    return writeJsonLine({ event: toJson(StreamResponseSchema, create(StreamResponseSchema, { payload: event })) });
  }

  async end(known: Task | Message | undefined, incomplete: ReadonlySet<string>): Promise<void> {
    if (known === undefined) return;
    const gaps: JsonObject = incomplete.size === 0 ? {} : { incomplete: [...incomplete] };
    await writeJsonLine(
      known.$typeName === "lf.a2a.v1.Task" ? { task: toJson(TaskSchema, known), ...gaps } : { message: toJson(MessageSchema, known) },
    );
  }
}

/** Text and bytes as they are; data and addresses on lines of their own. */
async function writePart(part: Part): Promise<void> {
  const { content } = part;
  if (content.case === "text") await write(content.value);
  else if (content.case === "data") await writeJsonLine(toJson(ValueSchema, content.value));
  else if (content.case === "url") await write(`${content.value}\n`);
  else if (content.case === "raw") {
    if (process.stdout.isTTY) say(`[${partText(part)}]`);
    else await write(content.value);
  }
}
