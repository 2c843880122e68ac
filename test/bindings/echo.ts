/** What a caller sends, given back by the agent in every place where a message or an artifact can be, and read in every way there is. */
import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import type { Turn } from "../../src/core/agent.ts";
import { type AgentEvent, artifact, completed, inputRequired, working } from "../../src/core/events.ts";
import { brief, collect, message, nextFrame, stateOf, taskOf } from "./bed.ts";
import type { Caller } from "./callers/caller.ts";
import { ScenarioAgent } from "./scenario-agent.ts";

/** Takes every media type; says the message's parts and metadata again: in a status, in an artifact, in a question, and at the end. */
export class Echo extends ScenarioAgent {
  constructor() {
    super({ card: { defaultInputModes: ["*/*"], defaultOutputModes: ["*/*"] } });
  }

  override async *run({ message: { parts, metadata }, metadata: about, history }: Turn): AsyncGenerator<AgentEvent> {
    const same = { parts, ...(metadata && { metadata }) };
    const last = history.some(({ role, taskId }) => role === 2 && taskId !== "") ? completed : inputRequired;
    for (const event of [working(same), artifact({ artifactId: "echo", ...same }, { lastChunk: true }), last(same)]) {
      if (about !== undefined) event.value.metadata = about;
      yield event;
    }
  }
}

/** What is sent: parts, and metadata for all that can have it. */
export interface Said {
  readonly parts: readonly JsonObject[];
  readonly metadata: JsonObject;
}

/** The wires of one round trip: who sends, and who reads. */
export interface Wires {
  readonly caller: Caller;
  readonly readers: readonly Caller[];
}

/**
 * Sends a message and its follow-up, follows both, then reads the task with every reader: whatever the server says of them holds exactly
 * what was said. Answers how many copies were seen.
 */
export async function roundTrip({ caller, readers }: Wires, said: Said): Promise<number> {
  const { metadata } = said;
  const contextId = crypto.randomUUID();
  const words = { parts: [...said.parts], metadata };
  const sent = caller.stream("SendStreamingMessage", { message: message("", { contextId, ...words }), metadata });
  const { frames, end } = await collect(sent);
  assert.deepEqual([frames.map(brief), end], [ASKED, "clean"]);
  const { id } = (frames[0] as { task: { id: string } }).task;
  const subscription = caller.stream("SubscribeToTask", { id });
  frames.push(await nextFrame(subscription));
  const reply = taskOf(await caller.unary("SendMessage", { message: message("", { taskId: id, ...words }), metadata }));
  assert.equal(stateOf(reply), "TASK_STATE_COMPLETED");
  const rest = await collect(subscription);
  assert.deepEqual([rest.frames.map(brief), rest.end], [ANSWERED, "clean"]);
  frames.push(...rest.frames);
  const about = frames.flatMap((frame) => frame["statusUpdate"] ?? frame["artifactUpdate"] ?? []) as JsonObject[];
  // The WORKING that comes with a follow-up is the server's own.
  const echoed = about.filter(({ status }) => status === undefined || "message" in (status as JsonObject));
  for (const event of echoed) assert.deepEqual(event["metadata"], metadata);
  const tasks = [reply];
  for (const reader of readers) {
    tasks.push((await reader.unary("GetTask", { id })).message as typeof reply);
    const { message: page } = await reader.unary("ListTasks", { contextId, includeArtifacts: true });
    tasks.push(...(page["tasks"] as (typeof reply)[]));
  }
  assert.equal(tasks.length, 1 + 2 * readers.length);
  for (const task of tasks) assert.deepEqual(task, reply);
  const copies = [...frames, reply].flatMap(copiesIn);
  for (const copy of copies) assert.deepEqual([copy["parts"], copy["metadata"]], [said.parts, metadata]);
  return copies.length;
}

const ASKED = ["task SUBMITTED", "status WORKING", "artifact echo", "status INPUT_REQUIRED"];
const ANSWERED = ["status WORKING", "status WORKING", "artifact echo", "status COMPLETED"];

/** Every message and artifact within. */
function copiesIn(value: unknown): JsonObject[] {
  if (typeof value !== "object" || value === null) return [];
  if ("messageId" in value || "artifactId" in value) return [value as JsonObject];
  return Object.values(value).flatMap(copiesIn);
}
