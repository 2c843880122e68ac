/** Encode once: messages that go to many streams keep what was made of them for as long as somebody uses them. */
import { type DescMessage, type Message, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { jsonText } from "./json-output.ts";

/** What was made of a message that is sent more than once. */
export interface Forms {
  bytes: Uint8Array | undefined;
  json: string | undefined;
  readonly eventId: string | undefined;
  /** The bytes in an envelope, and the JSON. */
  protoFrame: Buffer | undefined;
  jsonFrame: Buffer | undefined;
  /** A task, or an event: as streams without extensions carry it, and with its position. */
  plain: Message | undefined;
  positioned: Message | undefined;
}

/** Answers what it is given: a class that extends it puts its private field there. */
// oxlint-disable-next-line typescript/no-extraneous-class
class Given {
  constructor(given: object) {
    return given;
  }
}

/**
 * Puts a private field onto a message: to everybody else as invisible as an entry of a `WeakMap`, and no part of a copy. A `WeakMap` takes
 * longer, and young collections would copy all that its values refer to, whether their keys are still used or not.
 */
class Shared extends Given {
  readonly #forms: Forms;

  constructor(message: Message, forms: Forms) {
    super(message);
    this.#forms = forms;
  }

  static formsOf(message: Message): Forms | undefined {
    return #forms in message ? message.#forms : undefined;
  }
}

/** What was made of a message so far; undefined where it was not said to be sent more than once. */
export function formsOf(message: Message): Forms | undefined {
  return Shared.formsOf(message);
}

/**
 * Says that this very object will be sent more than once and never changes. `bytes` are its stored encoding, where there is one;
 * `eventId` goes into the `id` line of a server-sent event.
 */
export function share<T extends Message>(message: T, bytes?: Uint8Array, eventId?: string): T {
  const known = formsOf(message);
  if (known === undefined) return new Shared(message, fresh(bytes, eventId)) as unknown as T;
  known.bytes ??= bytes;
  return message;
}

function fresh(bytes: Uint8Array | undefined, eventId: string | undefined): Forms {
  const none = undefined;
  return { bytes, json: none, eventId, protoFrame: none, jsonFrame: none, plain: none, positioned: none };
}

/** A message in another form, made once for all who send it. */
export function sharedForm<T extends Message, U extends Message>(message: T, form: "plain" | "positioned", make: (message: T) => U): U {
  const forms = formsOf(share(message)) as Forms;
  return (forms[form] ??= make(message)) as U;
}

/** The proto encoding: the stored bytes untouched, where the message has them. */
export function wireBytes<D extends DescMessage>(desc: D, message: MessageShape<D>): Uint8Array {
  const forms = formsOf(message);
  if (forms === undefined) return toBinary(desc, message);
  return (forms.bytes ??= toBinary(desc, message));
}

/** The ProtoJSON text, on one line and safe inside a server-sent event. */
export function wireJson<D extends DescMessage>(desc: D, message: MessageShape<D>): string {
  const forms = formsOf(message);
  if (forms === undefined) return jsonText(desc, message);
  return (forms.json ??= jsonText(desc, message));
}

/** The id of a message as a server-sent event; undefined where it has none. */
export function eventIdOf(message: Message): string | undefined {
  return formsOf(message)?.eventId;
}
