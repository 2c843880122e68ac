/** What became of a message that was on its way to the upstream when its replica, or the connection, went away (CL-13, CL-14). */
import type { AgentCard, Task } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type A2AClient, A2AError, type CallOptions } from "../client/index.ts";
import { isTransient } from "../client/a2a-error.ts";
import { knowsRepeats } from "../client/send.ts";
import { pause } from "../core/pause.ts";
import { isInterrupted, stateOf } from "../core/task.ts";
import type { UpstreamOptions } from "./upstream-options.ts";

/** Pages of a context that are looked through, and tasks on each. */
const MAX_PAGES = 10;
const PAGE_SIZE = 100;
/** Where a server that knows repeats does not say for how long. */
const REPEAT_WINDOW_MS = 60_000;

/** Nobody can tell whether a message has arrived. */
export class Untold extends Error {
  override readonly name = "Untold";
}

/** A message that may have been sent. */
export interface Sought {
  readonly client: A2AClient;
  /** Of the message and its context, as the upstream knows them. */
  readonly messageId: string;
  readonly contextId: string;
  /** Of the upstream's task that the message is for; empty where it was to begin one. */
  readonly taskId: string;
  /** When it was sent, at the latest, in milliseconds since 1970. */
  readonly sentAt: number;
  readonly options: Pick<UpstreamOptions, "settleMs" | "retryMs">;
  readonly extras: CallOptions & { readonly signal: AbortSignal };
}

/**
 * The upstream's task that has the message; undefined where the message is to be sent: it never arrived, or the upstream knows a repeat
 * when it sees one. Throws {@link Untold} where nobody can tell, and A2AError where the upstream cannot be asked now.
 */
export async function findTask(sought: Sought): Promise<Task | undefined> {
  const { client, sentAt, options, extras } = sought;
  if (Date.now() - sentAt < repeatWindowMs(await client.card())) return undefined;
  for (;;) {
    const late = Date.now() - sentAt >= options.settleMs;
    const found = sought.taskId === "" ? await lookUp(sought) : await taken(sought);
    if (found !== undefined || late || extras.signal.aborted) return found;
    await pause(options.retryMs, extras.signal);
  }
}

/** The task that a message was for, if it has the message. */
async function taken(sought: Sought): Promise<Task | undefined> {
  const task = await sought.client.getTask(sought.taskId, sought.extras);
  // One that still waits, and shows what it was told, was not told this.
  return holds(task, sought) || !isInterrupted(stateOf(task)) ? task : undefined;
}

/** Looks for the task of a message in its context. Throws as {@link findTask}. */
export async function lookUp(
  sought: Pick<Sought, "client" | "messageId" | "contextId"> & { readonly extras: CallOptions },
): Promise<Task | undefined> {
  const { client, contextId, extras } = sought;
  let told = true;
  for (let [page, pageToken] = [0, ""]; page < MAX_PAGES; page += 1) {
    const filter = { contextId, pageSize: PAGE_SIZE, pageToken, includeArtifacts: false };
    const { tasks, nextPageToken } = await client.listTasks(filter, extras).catch((error: unknown) => {
      if (error instanceof A2AError && (isTransient(error) || error.unreached)) throw error;
      throw new Untold("the upstream agent does not list its tasks", { cause: error });
    });
    for (const listed of tasks) {
      // A list may show the end of a history only.
      const task = holds(listed, sought) ? listed : await client.getTask(listed.id, extras);
      if (holds(task, sought)) return task;
      told &&= task.history.length > 0;
    }
    if (nextPageToken === "") {
      if (told) return undefined;
      throw new Untold("the upstream agent does not tell what its tasks were asked");
    }
    pageToken = nextPageToken;
  }
  throw new Untold("there are too many tasks in this context to look through");
}

function holds({ history }: Task, { messageId }: Pick<Sought, "messageId">): boolean {
  return history.some((said) => said.messageId === messageId);
}

/** How long after a send its repeat is safe; 0 where the server says nothing of repeats. Half of what it says: clocks differ, and so do starts. */
function repeatWindowMs(card: AgentCard): number {
  if (!knowsRepeats(card)) return 0;
  const declared = card.capabilities?.extensions.find(
    ({ params }) => params?.["mode"] === "window" && typeof params["windowMs"] === "number",
  );
  return Number(declared?.params?.["windowMs"] ?? REPEAT_WINDOW_MS) / 2;
}
