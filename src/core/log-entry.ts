/** One element of a task's log, and its place there. */
import { fromBinary } from "@bufbuild/protobuf";
import { type StreamResponse, StreamResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { WRITES } from "./format.ts";
import { randomHex } from "./random.ts";
import { type Command, CommandSchema, type Memo, MemoSchema } from "../../gen/throughline/v1/log_pb.ts";

/**
 * An event is streamed to every reader; a command was appended by a caller and is folded into the task only; a memo was left by the agent for
 * later runs of its turns, and nobody else sees it.
 */
export type EntryKind = "event" | "command" | "memo";

/** The message that an entry of each kind holds. */
export type EntryContent = StreamResponse | Command | Memo;

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
  return randomHex(4);
}

/** 16 random hex digits: by them a store knows who holds a lease or a claim. */
export function newToken(): string {
  return randomHex(8);
}

/** An entry before the store has given it a place. Frozen once handed to the store. */
export interface NewEntry {
  readonly kind: EntryKind;
  readonly mark: string;
  /** StreamResponse bytes of an event, Command bytes of a command, Memo bytes of a memo. */
  readonly bytes: Uint8Array;
  /** The decoded content, where the writer has it; saves readers in this process the decoding. */
  readonly content?: EntryContent;
}

/**
 * Decoded contents of this process, latest first, as long as their bytes fit: a decoded message is several times its bytes, and logs keep
 * many entries that nobody reads any more. First in, first out: what is streamed is mostly new. (A WeakRef would not do: young collections
 * take it for a strong one, and every event would grow old.)
 */
class RecentContents {
  readonly #limit: number;
  readonly #entries: (Entry | undefined)[] = [];
  #first = 0;
  #bytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(entry: Entry): void {
    this.#entries.push(entry);
    this.#bytes += entry.bytes.length + CONTENT_OVERHEAD;
    while (this.#bytes > this.#limit && this.#first < this.#entries.length - 1) this.#drop();
    if (this.#first < 4096) return;
    this.#entries.splice(0, this.#first);
    this.#first = 0;
  }

  #drop(): void {
    const entry = this.#entries[this.#first];
    this.#entries[this.#first] = undefined;
    this.#bytes -= (entry?.bytes.length ?? 0) + CONTENT_OVERHEAD;
    entry?.forget();
    this.#first += 1;
  }
}

/** What a decoded message costs besides its bytes, roughly. */
const CONTENT_OVERHEAD = 1024;
const recent = new RecentContents(1 * 1024 * 1024);

/** A stored entry. The bytes are the truth; the decoded content is made once and shared by all readers while any of them uses it. */
export class Entry implements Position {
  readonly offset: number;
  readonly mark: string;
  readonly epoch: number;
  readonly kind: EntryKind;
  /** When the store appended it, in milliseconds since 1970 by the store's clock. */
  readonly time: number;
  /** The format that it is stored in; one that this version reads. */
  readonly format: number;
  readonly bytes: Uint8Array;
  #content: EntryContent | undefined;

  /** `format` is that of this version where it is left out. */
  constructor(place: { offset: number; epoch: number; time: number; format?: number }, entry: NewEntry) {
    this.offset = place.offset;
    this.epoch = place.epoch;
    this.time = place.time;
    this.format = place.format ?? WRITES;
    this.kind = entry.kind;
    this.mark = entry.mark;
    this.bytes = entry.bytes;
    if (entry.content !== undefined) this.#keep(entry.content);
  }

  /** The event. Read it, do not change it. Throws on any other entry. */
  get event(): StreamResponse {
    if (this.kind !== "event") throw new TypeError(`a ${this.kind} is no event`);
    return this.#decoded(() => fromBinary(StreamResponseSchema, this.bytes)) as StreamResponse;
  }

  /** The command. Read it, do not change it. Throws on any other entry. */
  get command(): Command {
    if (this.kind !== "command") throw new TypeError(`a ${this.kind} is no command`);
    return this.#decoded(() => fromBinary(CommandSchema, this.bytes)) as Command;
  }

  /** The memo. Read it, do not change it. Throws on any other entry. */
  get memo(): Memo {
    if (this.kind !== "memo") throw new TypeError(`a ${this.kind} is no memo`);
    return this.#decoded(() => fromBinary(MemoSchema, this.bytes)) as Memo;
  }

  #decoded(decode: () => EntryContent): EntryContent {
    return this.#content ?? this.#keep(decode());
  }

  #keep(content: EntryContent): EntryContent {
    this.#content = content;
    recent.add(this);
    return content;
  }

  /** Drops the decoded content; it is decoded again when it is asked for. */
  forget(): void {
    this.#content = undefined;
  }
}
