/** What scripts and commands answer, as values of the port. */
import { RefusedError, type Refusal, taskNotFound } from "../../core/errors.ts";
import type { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { tooManyPushConfigs } from "../../core/push-configs.ts";
import { READS } from "../../core/format.ts";
import { Entry, type EntryKind, type Position } from "../../core/log-entry.ts";
import type { TaskMeta } from "../../core/storage.ts";
import type { Reply } from "./connection/reply.ts";

/** A reply that is a text. */
export function text(reply: Reply | undefined): string {
  return reply === null || reply === undefined ? "" : String(reply);
}

/** A reply that is a list. */
export function list(reply: Reply | undefined): readonly Reply[] {
  if (!Array.isArray(reply)) throw new TypeError("Redis answered something else than a list");
  return reply as readonly Reply[];
}

/** A state as it is stored: its number. */
export function state(reply: Reply | undefined): TaskState {
  return Number(text(reply)) as TaskState;
}

/** Bytes as they are stored; empty where there are none. */
export function bytes(reply: Reply | undefined): Uint8Array {
  return reply instanceof Uint8Array ? reply : new Uint8Array();
}

const REFUSALS: ReadonlySet<string> = new Set(["FENCED", "SEALED", "PENDING", "STALE"] satisfies Refusal[]);

/** The one place where words of scripts become errors: a refusal is thrown, any other word is the caller's to judge. */
export function accepted(reply: Reply, taskId: string): readonly [word: string, ...rest: string[]] {
  const words = Array.isArray(reply) ? (reply as readonly Reply[]).map(text) : [text(reply)];
  const [word = ""] = words;
  if (REFUSALS.has(word)) throw new RefusedError(word as Refusal);
  if (word === "NOT_FOUND") throw taskNotFound(taskId);
  if (word === "FULL") throw tooManyPushConfigs();
  return words as [string, ...string[]];
}

const LETTERS = { event: "e", command: "c", memo: "m" } as const;
const KINDS: Readonly<Record<string, EntryKind>> = { e: "event", c: "command", m: "memo" };

/** The letter by which the kind of an entry is stored. */
export function kindLetter(kind: EntryKind): "e" | "c" | "m" {
  return LETTERS[kind];
}

/** A format as it is stored; the first one where nothing is. */
function format(written: string | undefined): number {
  return written === undefined ? 1 : Number(written);
}

/**
 * Entries of XRANGE: the id says the offset, `h` kind and mark, epoch, time and format, `b` the bytes. Ends before the first one that this
 * version cannot read.
 */
export function streamEntries(reply: Reply | undefined): Entry[] {
  const entries: Entry[] = [];
  for (const item of list(reply)) {
    const [id, fields] = list(item);
    const [, header, , stored] = list(fields);
    const [what = "", epoch, time, ...rest] = text(header).split(" ");
    // The bytes so far come last. Where the format is not said before them it is the first one.
    const written = format(rest.length > 1 ? rest[0] : undefined);
    if (written > READS) break;
    const kind = KINDS[what.slice(0, 1)];
    if (kind === undefined) throw new TypeError(`an entry of an unknown kind, ${what.slice(0, 1)}`);
    const place = { offset: Number.parseInt(text(id), 10), epoch: Number(epoch), time: Number(time), format: written };
    entries.push(new Entry(place, { kind, mark: what.slice(1), bytes: bytes(stored) }));
  }
  return entries;
}

/** News of a log, as `publish` writes it. `entries` is empty where they are to be fetched. */
export interface News {
  readonly before: Position;
  readonly after: Position;
  readonly sealed: boolean;
  readonly entries: readonly Entry[];
}

/** Reads what was published: always entries of the first format. The bytes of the entries are shared with the message. */
export function parseNews(message: Buffer): News {
  const end = message.indexOf(10);
  const [before = "", after = "", sealed, epoch, time, ...items] = message.toString("latin1", 0, end).split(" ");
  const first = position(before);
  let at = end + 1;
  const entries = items.map((item, index) => {
    const length = Number(item.slice(9));
    const place = { offset: first.offset + 1 + index, epoch: Number(epoch), time: Number(time) };
    const kind = KINDS[item.slice(0, 1)];
    const entry = kind && new Entry({ ...place, format: 1 }, { kind, mark: item.slice(1, 9), bytes: message.subarray(at, at + length) });
    at += length;
    return entry;
  });
  const known = entries.filter((entry) => entry !== undefined);
  return { before: first, after: position(after), sealed: sealed === "1", entries: known.length === items.length ? known : [] };
}

/** A position as scripts write it; the mark is empty before the first entry. */
export function position(written: string): Position {
  const dot = written.indexOf(".");
  return { offset: Number(written.slice(0, dot)), mark: written.slice(dot + 1) };
}

/** Fields of a record that {@link parseMeta} reads, in its order. */
export const META_FIELDS = [
  "tn",
  "ow",
  "cx",
  "st",
  "ts",
  "nx",
  "mk",
  "gn",
  "ep",
  "tk",
  "co",
  "lc",
  "cr",
  "at",
  "bg",
  "fo",
  "cf",
  "fv",
] as const;

/** A record, and up to where it is confirmed: undefined where nothing needs to be. */
export interface Recorded {
  readonly meta: TaskMeta;
  readonly confirmed: number | undefined;
}

/** The record that HMGET of {@link META_FIELDS} answered; undefined where there is no such task. */
export function parseMeta(id: string, reply: Reply | undefined): Recorded | undefined {
  const [tenant, owner, context, stored, statusTime, offset, mark, generation, epoch, token, ...rest] = list(reply).map((field) =>
    field === null ? undefined : text(field),
  );
  if (stored === undefined) return undefined;
  const [consumed, lastCommand, cancelRequested, attempts, begun, first, confirmed, newest] = rest;
  const meta: TaskMeta = {
    id,
    scope: { tenant: tenant ?? "", owner: owner ?? "" },
    contextId: context ?? "",
    state: Number(stored) as TaskState,
    statusTime: Number(statusTime),
    position: { offset: Number(offset), mark: mark ?? "" },
    generation: Number(generation),
    epoch: Number(epoch),
    leased: token !== "",
    consumed: Number(consumed),
    lastCommand: Number(lastCommand),
    cancelRequested: Number(cancelRequested),
    attempts: Number(attempts),
    begun: begun === "1",
    firstOffset: Number(first),
    format: format(newest),
  };
  return { meta, confirmed: confirmed === undefined ? undefined : Number(confirmed) };
}
