/**
 * Works through a list, one item a line, and streams a result per item. It is `resumable`: where a run was cut off, by a crash or a drain,
 * the next one reads from the task which items have their result and goes on with the first that has none.
 *
 * The log has each result exactly once. The work itself is done at least once: a run that is cut off between doing an item and storing its
 * result leaves that item to be done again, so what `work` changes in the outside world must bear being repeated.
 */
import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import {
  type Agent,
  type AgentEvent,
  artifact,
  completed,
  inputRequired,
  type Message,
  textPart,
  type Turn,
  working,
} from "../../src/index.ts";

/** The artifact that grows by one part per item: its parts say how far the list is done. */
const RESULTS = "results";

/** How the agent works. */
export interface ListWorkerOptions {
  /** What is done with an item; answers its result, one line. Default: its SHA-256, at leisure, so that there is time to kill a replica. */
  readonly work?: (item: string, signal: AbortSignal) => Promise<string>;
}

/** An agent that does the given work. */
export function listWorker({ work = digest }: ListWorkerOptions = {}): Agent {
  return {
    card: {
      name: "List worker",
      description: "Works through a list, one item a line, and goes on where it stopped when its process goes away.",
      version: "1.0.0",
      defaultInputModes: ["text/plain"],
      defaultOutputModes: ["text/plain"],
      skills: [
        {
          id: "digest",
          name: "Digest a list",
          description: "Answers the SHA-256 of each line as artifact results, a part per line.",
          tags: ["resumable"],
          examples: ["apples\npears\nplums"],
        },
      ],
    },
    resumable: true,
    run: (turn) => workThrough(turn, work),
  };
}

async function* workThrough(turn: Turn, work: Required<ListWorkerOptions>["work"]): AsyncGenerator<AgentEvent> {
  const items = itemsOf(turn.message);
  if (items.length === 0) {
    yield inputRequired("Which items? One a line.");
    return;
  }
  const done = turn.task.artifacts.find(({ artifactId }) => artifactId === RESULTS)?.parts.length ?? 0;
  const count = items.length === 1 ? "1 item" : `${items.length} items`;
  if (done < items.length) yield working(turn.resumed ? `going on with item ${done + 1} of ${items.length}` : count);
  for (const [index, item] of items.entries()) {
    if (index < done) continue;
    const result = await work(item, turn.signal);
    const chunk = { artifactId: RESULTS, name: "results.txt", parts: [textPart(`${result}\n`)] };
    yield artifact(chunk, { append: index > 0, lastChunk: index === items.length - 1 });
  }
  yield completed(`${count} done`);
}

function itemsOf({ parts }: Message): string[] {
  const lines = parts.flatMap(({ content }) => (content.case === "text" ? content.value.split("\n") : []));
  return lines.map((line) => line.trim()).filter((line) => line !== "");
}

async function digest(item: string, signal: AbortSignal): Promise<string> {
  await delay(500, undefined, { signal });
  return `${createHash("sha256").update(item).digest("hex")}  ${item}`;
}

const agent: Agent = listWorker();
export default agent;
