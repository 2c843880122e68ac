/** One element of a task's log, and its place there. */
import { fromBinary } from "@bufbuild/protobuf";
import { type StreamResponse, StreamResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { hex, randomBytes } from "./random.ts";
import { type Command, CommandSchema } from "../../gen/throughline/v1/log_pb.ts";

/** An event is streamed to every reader; a command was appended by a caller and is folded into the task only. */
export type EntryKind = "event" | "command";

/** The message that an entry of each kind holds. */
export type EntryContent = StreamResponse | Command;

/**
 * A place in one history: after a failover that lost entries the same offset may carry another mark. Offset 0 with an empty mark is
 * the place before the first entry.
 */
export interface Position {
  /** 1-based place of the entry in its log. */
  readonly offset: number;
  /** 8 random hex digits drawn by the entry's writer before the first attempt to append it. */
  readonly mark: string;
}

/** The place before the first entry. */
export const START: Position = { offset: 0, mark: "" };

/** Whether two positions name the same place of the same history. */
export function samePosition(a: Position, b: Position): boolean {
  return a.offset === b.offset && a.mark === b.mark;
}

/** A position as text: `<offset>.<mark>`. */
export function formatPosition({ offset, mark }: Position): string {
  return `${offset}.${mark}`;
}

/** Reads {@link formatPosition}'s form; undefined for anything else. */
export function parsePosition(text: string): Position | undefined {
  const match = /^(0|[1-9]\d{0,9})\.([0-9a-f]{8})$/.exec(text);
  return match === null ? undefined : { offset: Number(match[1]), mark: match[2] ?? "" };
}

/** 8 random hex digits: marks, and the tokens of what must be told apart after a lost reply. */
export function newMark(): string {
  return hex(randomBytes(4));
}

/** An entry before the store has given it a place. Frozen once handed to the store. */
export interface NewEntry {
  readonly kind: EntryKind;
  readonly mark: string;
  /** StreamResponse bytes of an event, Command bytes of a command. */
  readonly bytes: Uint8Array;
  /** The decoded content, where the writer has it; saves readers in this process the decoding. */
  readonly content?: EntryContent;
}

/** A stored entry. The bytes are the truth; the decoded content is made once and shared by all readers while any of them uses it. */
export class Entry implements Position {
  readonly offset: number;
  readonly mark: string;
  readonly epoch: number;
  readonly kind: EntryKind;
  /** When the store appended it, in milliseconds since 1970 by the store's clock. */
  readonly time: number;
  readonly bytes: Uint8Array;
  // Weak: a decoded message is several times its bytes, and a log keeps many entries that nobody reads any more.
  #content: WeakRef<EntryContent> | undefined;

  constructor(place: { offset: number; epoch: number; time: number }, entry: NewEntry) {
    this.offset = place.offset;
    this.epoch = place.epoch;
    this.time = place.time;
    this.kind = entry.kind;
    this.mark = entry.mark;
    this.bytes = entry.bytes;
    this.#content = entry.content && new WeakRef(entry.content);
  }

  /** The event. Read it, do not change it. Throws on a command. */
  get event(): StreamResponse {
    if (this.kind !== "event") throw new TypeError("a command is no event");
    return this.#decoded(() => fromBinary(StreamResponseSchema, this.bytes)) as StreamResponse;
  }

  /** The command. Read it, do not change it. Throws on an event. */
  get command(): Command {
    if (this.kind !== "command") throw new TypeError("an event is no command");
    return this.#decoded(() => fromBinary(CommandSchema, this.bytes)) as Command;
  }

  #decoded(decode: () => EntryContent): EntryContent {
    const known = this.#content?.deref();
    if (known !== undefined) return known;
    const content = decode();
    this.#content = new WeakRef(content);
    return content;
  }
}
