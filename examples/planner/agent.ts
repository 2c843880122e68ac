/**
 * An agent that calls another one: it has the test-runner run the tests of a project, passes on what that says meanwhile, and reports what
 * failed, and where.
 *
 * It is `resumable`: the runner's task goes on whatever becomes of this process, and a memo says which task it is. A run that was cut off
 * before its memo was stored sends the same message again, which the runner joins to the first one. Either way the tests run once.
 */
import { createHash } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import { A2AClient, type CardInput, type ClientOptionsInput } from "../../src/client/index.ts";
import {
  type Agent,
  type AgentCardInit,
  type AgentEvent,
  artifact,
  completed,
  memo,
  MessageSchema,
  status,
  TaskState,
  textPart,
  type Turn,
  TurnAborted,
  working,
} from "../../src/index.ts";
import { reportOf, textOf } from "./report.ts";

/** Whom the agent calls, and how. */
export interface PlannerOptions {
  /** The test-runner: its URL, or its card. */
  readonly runner: CardInput;
  /** Of its client: credentials, TLS, timeouts. Default: the client's own. */
  readonly client?: ClientOptionsInput;
}

/** What a turn leaves for the next one. */
interface Note {
  /** The runner's task. */
  readonly taskId?: string;
  /** Id of the message to it that passed on what the caller had said last. */
  readonly passedOn?: string;
}

/** An agent that calls the given test-runner over gRPC. */
export function planner({ runner, client: options = {} }: PlannerOptions): Agent {
  const connect = (signal: AbortSignal): Promise<A2AClient> => A2AClient.connect(runner, { bindings: ["GRPC"], ...options, signal });
  return {
    card,
    resumable: true,
    async *run(turn) {
      await using client = await connect(turn.signal);
      const { taskId: known = "", passedOn }: Note = turn.memo ?? {};
      const messageId = idOf(turn);
      const taskId = passedOn === messageId ? known : await passOn(turn, client, { messageId, known });
      try {
        yield memo({ taskId, passedOn: messageId });
        yield* report(turn, client, taskId);
      } finally {
        if (isOver(turn.signal)) await client.cancelTask(taskId);
      }
    },
    async canceled({ memo: note }) {
      const { taskId }: Note = note ?? {};
      if (taskId === undefined) return;
      await using client = await connect(AbortSignal.timeout(30_000));
      await client.cancelTask(taskId);
    },
  };
}

/**
 * Sends what the caller has said to the runner: as a new task, or as the answer to what that asked. Answers the id of the task, without
 * waiting for its end. The turn's signal does not end this: of a task that was begun the id must be known, or it could not be canceled.
 */
async function passOn(
  { contextId, message: { parts } }: Turn,
  client: A2AClient,
  { messageId, known }: { readonly messageId: string; readonly known: string },
): Promise<string> {
  const target = known === "" ? { contextId } : { taskId: known };
  await using run = client.send({ messageId, parts }, { ...target, wait: "poll" });
  for await (const { task } of run) if (task !== undefined) return task.id;
  throw new Error("the test-runner has begun no task");
}

/** Follows the runner's task, however often the way to it is cut, and ends as that does: with a report, a question, or a refusal. */
async function* report({ signal }: Turn, client: A2AClient, taskId: string): AsyncGenerator<AgentEvent> {
  await using run = client.follow(taskId, { signal });
  let told = "";
  for await (const { task } of run) {
    const said = textOf(task?.status?.message);
    if (task?.status?.state !== TaskState.WORKING || said === told) continue;
    told = said;
    yield working(said);
  }
  const { task } = run;
  if (task?.status === undefined) return;
  const text = reportOf(task);
  if (text === undefined) {
    const { state, message } = task.status;
    yield status(state, message && { parts: message.parts });
    return;
  }
  yield artifact({ artifactId: "report", name: "report.md", parts: [textPart(text, "text/markdown")] }, { lastChunk: true });
  yield completed(textOf(task.status.message));
}

/** The same in each run of a turn: by that the runner knows a repeat. */
function idOf({ taskId, message }: Turn): string {
  return createHash("sha256").update(taskId).update(toBinary(MessageSchema, message)).digest("hex");
}

/** Whether the task is to end, and not only this run of it: after a drain or a lost lease, whoever takes over follows the same task. */
function isOver({ reason }: AbortSignal): boolean {
  return reason instanceof TurnAborted && reason.abortCause !== "draining" && reason.abortCause !== "lease-lost";
}

const card: AgentCardInit = {
  name: "Planner",
  description: "Has the tests of a project run by the test-runner, and reports what failed and where.",
  version: "1.0.0",
  defaultInputModes: ["text/plain", "application/json"],
  defaultOutputModes: ["text/markdown"],
  skills: [
    {
      id: "test-and-report",
      name: "Test and report",
      description: "Passes the message on to the test-runner, and answers artifact report: what failed, where, and why.",
      tags: ["testing", "reports"],
      examples: ["test the payments-api and report"],
    },
  ],
};

const agent: Agent = planner({ runner: process.env["THROUGHLINE_PLANNER_RUNNER"] || "http://127.0.0.1:8080" });
export default agent;
