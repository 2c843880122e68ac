/** Reads what a suite looks at in tasks and streams. */
import assert from "node:assert/strict";
import { fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { StreamResponseSchema, TaskSchema } from "../../../../gen/lf/a2a/v1/a2a_pb.ts";
import { brief } from "../../../bindings/bed.ts";
import { SuiteError } from "./client.ts";

/** A task as a suite reads it. */
export interface SeenTask {
  readonly id: string;
  readonly contextId: string;
  readonly state: string;
  /** Texts of the status message; empty where there is none. */
  readonly says: string;
  /** Parts of each artifact. */
  readonly artifacts: readonly (readonly JsonValue[])[];
  /** `ROLE_USER: text` of each message. */
  readonly history: readonly string[];
}

/** Reads a Task strictly: a member that is not of the schema fails the test. */
export function readTask(json: JsonValue): SeenTask {
  fromJson(TaskSchema, json);
  const task = json as JsonObject & { id: string; contextId: string };
  const status = task["status"] as JsonObject;
  const list = (value: JsonValue | undefined): JsonObject[] => (value ?? []) as JsonObject[];
  return {
    id: task.id,
    contextId: task.contextId,
    state: (status["state"] as string).replace("TASK_STATE_", ""),
    says: status["message"] === undefined ? "" : textOf(status["message"] as JsonObject),
    artifacts: list(task["artifacts"]).map((artifact) => list(artifact["parts"])),
    history: list(task["history"]).map((message) => `${message["role"] as string}: ${textOf(message)}`),
  };
}

/** The task that a send was answered with. */
export function taskIn(reply: JsonObject): SeenTask {
  assert.deepEqual(Object.keys(reply), ["task"]);
  return readTask(reply["task"] as JsonValue);
}

/** All frames of a stream, each read strictly. */
export async function framesOf(stream: AsyncIterable<JsonObject>): Promise<JsonObject[]> {
  const frames: JsonObject[] = [];
  for await (const frame of stream) frames.push(strict(frame));
  return frames;
}

/** The next frames of a stream that stays open. */
export async function take(stream: AsyncGenerator<JsonObject>, count: number): Promise<JsonObject[]> {
  const frames: JsonObject[] = [];
  while (frames.length < count) frames.push(strict(await next(stream)));
  return frames;
}

/** Frames in a word or two each; an artifact with its text, `+` before one that is appended. */
export function outline(frames: readonly JsonObject[]): string[] {
  return frames.map((frame) => {
    const update = frame["artifactUpdate"] as JsonObject | undefined;
    if (update === undefined) return brief(frame);
    const marks = `${update["append"] === true ? "+" : ""}artifact${update["lastChunk"] === true ? "!" : ""}`;
    return `${marks} ${textOf(update["artifact"] as JsonObject)}`;
  });
}

/** The next frame of a stream that has one. */
export async function next(stream: AsyncGenerator<JsonObject>): Promise<JsonObject> {
  const { value, done } = await stream.next();
  return done === true ? assert.fail("the stream has ended") : value;
}

/** The reason that an operation fails for. */
export async function reasonOf(call: Promise<unknown> | AsyncGenerator): Promise<string | undefined> {
  return (await errorOf(call)).reason;
}

/** The error that an operation, or a stream at its first frame, fails with. */
export async function errorOf(call: Promise<unknown> | AsyncGenerator): Promise<SuiteError> {
  try {
    await ("next" in call ? call.next() : call);
  } catch (error) {
    if (error instanceof SuiteError) return error;
    throw error;
  }
  return assert.fail("the operation did not fail");
}

function strict(frame: JsonObject): JsonObject {
  fromJson(StreamResponseSchema, frame);
  return frame;
}

function textOf(holder: JsonObject): string {
  const parts = (holder["parts"] ?? []) as { text?: string; url?: string; filename?: string }[];
  return parts.map(({ text, url, filename }) => text ?? url ?? filename ?? "data").join("");
}
