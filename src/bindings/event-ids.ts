/** Ids that events had on their way, kept beside the messages that were read from them. */
import type { Message } from "@bufbuild/protobuf";

const ids = new WeakMap<Message, string>();

/** What a reconnection after this frame would send as `Last-Event-ID`; undefined where its stream had no ids. */
export function lastEventIdOf(frame: Message): string | undefined {
  return ids.get(frame);
}

/** Keeps the id of a frame; an empty one is none. */
export function keepEventId(frame: Message, id: string): void {
  if (id !== "") ids.set(frame, id);
}
