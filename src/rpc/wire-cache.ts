/** Encode once: messages that go to many streams keep their bytes and their JSON for as long as somebody uses them. */
import { type DescMessage, type Message, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { jsonText } from "./json-output.ts";

interface Forms {
  bytes: Uint8Array | undefined;
  json: string | undefined;
  readonly eventId: string | undefined;
}

const shared = new WeakMap<Message, Forms>();

/**
 * Says that this very object will be sent more than once and never changes. `bytes` are its stored encoding, where there is one;
 * `eventId` goes into the `id` line of a server-sent event.
 */
export function share<T extends Message>(message: T, bytes?: Uint8Array, eventId?: string): T {
  if (!shared.has(message)) shared.set(message, { bytes, json: undefined, eventId });
  return message;
}

/** Whether this object was said to be sent more than once. */
export function isShared(message: Message): boolean {
  return shared.has(message);
}

/** The proto encoding: the stored bytes untouched, where the message has them. */
export function wireBytes<D extends DescMessage>(desc: D, message: MessageShape<D>): Uint8Array {
  const forms = shared.get(message);
  if (forms === undefined) return toBinary(desc, message);
  return (forms.bytes ??= toBinary(desc, message));
}

/** The ProtoJSON text, on one line and safe inside a server-sent event. */
export function wireJson<D extends DescMessage>(desc: D, message: MessageShape<D>): string {
  const forms = shared.get(message);
  if (forms === undefined) return jsonText(desc, message);
  return (forms.json ??= jsonText(desc, message));
}

/** The id of a message as a server-sent event; undefined where it has none. */
export function eventIdOf(message: Message): string | undefined {
  return shared.get(message)?.eventId;
}
