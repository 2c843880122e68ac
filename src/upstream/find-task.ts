/** What became of a message that was on its way to the upstream when its replica, or the connection, went away (CL-13, CL-14). */
import type { Message, Task } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AError } from "../client/index.ts";
import { isTransient } from "../client/a2a-error.ts";
import { knowsRepeats } from "../client/send.ts";
import type { Turn } from "../core/agent.ts";
import { isInterrupted, stateOf } from "../core/task.ts";
import { upstreamId } from "./own-message.ts";
import type { UpstreamAgent } from "./upstream-agent.ts";
import type { UpstreamMemo } from "./upstream-memo.ts";

/** Most tasks of a context that are looked through. */
const MAX_TASKS = 100;

/** Nobody can tell whether a message has arrived. */
export class Untold extends Error {
  override readonly name = "Untold";
}

/**
 * The upstream's task that holds the message; undefined where the message is to be sent: it never arrived, or the upstream knows a repeat
 * when it sees one. Throws {@link Untold} where nobody can tell, and the options do not allow the work to run twice.
 */
export async function findTask(
  agent: UpstreamAgent,
  turn: Turn,
  message: Message,
  on: UpstreamMemo | undefined,
): Promise<Task | undefined> {
  const { client, options } = agent;
  const extras = agent.extrasOf(turn);
  const messageId = upstreamId(message.messageId, turn);
  const holds = ({ history }: Task): boolean => history.some((said) => said.messageId === messageId);
  if (on !== undefined && on.taskId !== "") {
    const task = await client.getTask(on.taskId, extras);
    // One that still waits, and shows what it was told, was not told this.
    return holds(task) || !isInterrupted(stateOf(task)) ? task : undefined;
  }
  if (knowsRepeats(await client.card())) return undefined;
  const filter = { contextId: upstreamId(turn.contextId, turn), pageSize: MAX_TASKS, includeArtifacts: false };
  const { tasks } = await client.listTasks(filter, extras).catch((error: unknown) => {
    if (error instanceof A2AError && (isTransient(error) || error.unreached)) throw error;
    if (options.lost === "rerun") return { tasks: [] };
    throw new Untold("the upstream agent does not list its tasks", { cause: error });
  });
  const whole = await Promise.all(tasks.map(async (task) => (task.history.length > 0 ? task : client.getTask(task.id, extras))));
  const found = whole.find(holds);
  if (found !== undefined || options.lost === "rerun" || whole.every(({ history }) => history.length > 0)) return found;
  throw new Untold("the upstream agent does not tell what its tasks were asked");
}
