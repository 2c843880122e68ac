/** How one agent of the traversal suite calls another. */
import { randomUUID } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import {
  A2AClient,
  A2AError,
  type ClientBinding,
  type Message,
  type MessageInput,
  Role,
  type SendOptions,
  type Task,
  TaskState,
} from "../../src/client/index.ts";
import { bytesPart } from "../../src/index.ts";
import { type CallAgent, InstructionSchema } from "../../test/gen/itk_pb.ts";

/** Media type of an instruction in a part. */
export const INSTRUCTION_TYPE = "application/x-protobuf";
/** What a task that is held says once it has said all. */
export const FINISHED = "task-finished";

/** The names that the suite has for the bindings. */
const BINDINGS: Readonly<Record<string, ClientBinding>> = { grpc: "GRPC", jsonrpc: "JSONRPC", http_json: "HTTP+JSON" };
/** The suite's receivers take any token. */
const PUSH_TOKEN = "traversal";

/** Sends the inner instruction to the agent that is named, in the way that is asked for; answers what that agent says, text by text. */
export async function callAgent(call: CallAgent, signal: AbortSignal): Promise<readonly string[]> {
  const binding = BINDINGS[call.transport.toLowerCase()];
  if (binding === undefined) throw new Error(`transport is ${Object.keys(BINDINGS).join(", ")}, not ${call.transport.slice(0, 40)}`);
  if (call.instruction === undefined) throw new Error("a call of an agent needs an instruction");
  const bytes = toBinary(InstructionSchema, call.instruction);
  const message = { messageId: randomUUID(), parts: [bytesPart(bytes, "instruction.bin", INSTRUCTION_TYPE)] };

  await using peer = await A2AClient.connect(call.agentCardUri, { bindings: [binding], signal });
  if (call.behavior.case === "resubscribe") return await resubscribed(peer, message, signal);
  const configuration: SendOptions["configuration"] =
    call.behavior.case === "pushNotification"
      ? { taskPushNotificationConfig: { url: receiverOf(call.behavior.value.url), token: PUSH_TOKEN } }
      : {};
  const reply = await peer.send(message, { wait: call.streaming ? "stream" : "block", configuration, signal });
  if (reply.$typeName === "lf.a2a.v1.Message") return textsOf(reply);
  const texts = saidIn(reply);
  if (reply.status?.state !== TaskState.COMPLETED)
    throw new Error(`the task at ${call.agentCardUri} was not completed: ${texts.join(" ")}`);
  return texts;
}

/** Drops the stream of the send at its first event, and hears of the rest by a subscription; a task that has said all is canceled. */
async function resubscribed(peer: A2AClient, message: MessageInput, signal: AbortSignal): Promise<readonly string[]> {
  const taskId = await firstTaskId(peer, message, signal);
  await using run = peer.follow(taskId, { signal });
  for await (const { task } of run) {
    const texts = task === undefined ? [] : saidIn(task);
    const last = texts.findIndex((text) => text.includes(FINISHED));
    if (last < 0) continue;
    await peer.cancelTask(taskId, { signal }).catch(unlessEnded);
    return texts.slice(0, last + 1).map((text) => text.replace(FINISHED, "").trimEnd());
  }
  throw new Error(`the task ${taskId} has ended, and never said ${FINISHED}`);
}

async function firstTaskId(peer: A2AClient, message: MessageInput, signal: AbortSignal): Promise<string> {
  await using run = peer.send(message, { wait: "stream", signal });
  for await (const { task } of run) if (task !== undefined) return task.id;
  throw new Error("the agent made no task of the message");
}

function unlessEnded(error: unknown): void {
  if (!(error instanceof A2AError) || error.reason !== "TASK_NOT_CANCELABLE") throw error;
}

/** All that the agent has said in its task. */
function saidIn({ history, status }: Task): string[] {
  const messages = [...history, ...(status?.message === undefined ? [] : [status.message])];
  return messages.filter(({ role }) => role === Role.AGENT).flatMap(textsOf);
}

function textsOf({ parts }: Message): string[] {
  return parts.flatMap(({ content }) => (content.case === "text" && content.value !== "" ? [content.value] : []));
}

function receiverOf(url: string): string {
  return `${/^https?:\/\//.test(url) ? url : `http://${url}`}/notifications`;
}
