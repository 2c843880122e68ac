/** Positions as callers see them: the extension `urn:throughline:a2a:log:v1`. */
import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import { collect, send } from "../bed.ts";
import type { Caller, Stream } from "../callers/caller.ts";

/** URI of the extension. */
export const LOG_URI: string = "urn:throughline:a2a:log:v1";
/** The headers of a call that activates it. */
export const ACTIVE: Readonly<Record<string, string>> = { "a2a-extensions": LOG_URI };

/** The headers of a reader that comes back. */
export function after(id: string): { headers: Record<string, string> } {
  return { headers: { ...ACTIVE, "last-event-id": id } };
}

/** The id of a frame as `Last-Event-ID` takes it, made of its metadata. */
export function idOf(frame: JsonObject): string {
  const [value] = Object.values(frame) as [JsonObject];
  const { position } = (value["metadata"] as JsonObject)[LOG_URI] as { position: string };
  return `${(value["taskId"] ?? value["id"]) as string}/${position}`;
}

/** The offset of a frame. */
export function offsetOf(frame: JsonObject): number {
  return Number(/\/(\d+)\./.exec(idOf(frame))?.[1]);
}

/** SubscribeToTask after a position. */
export function subscribe(caller: Caller, id: string, last: string): Stream {
  return caller.stream("SubscribeToTask", { id }, after(last));
}

/** Frames without their positions: what is compared with a stream that has none. */
export function plain(frames: readonly JsonObject[]): JsonObject[] {
  return frames.map((frame) => {
    const [[kind, value] = ["", {}]] = Object.entries(frame) as [string, JsonObject][];
    const { metadata: _, ...rest } = value;
    return { [kind]: rest };
  });
}

/** All frames of a task that ran to its end. */
export async function whole(caller: Caller, text: string): Promise<{ id: string; frames: JsonObject[] }> {
  const { frames, end } = await collect(caller.stream("SendStreamingMessage", send(text), { headers: ACTIVE }));
  assert.equal(end, "clean");
  return { id: (frames[0] as { task: { id: string } }).task.id, frames };
}
