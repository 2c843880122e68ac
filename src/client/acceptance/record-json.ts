/** Records as JSON for people and for other programs. */
import { AcceptanceError } from "./acceptance-error.ts";
import type { AcceptanceRecord, CheckResult, Gap, RecordedAgent, RecordedContent, RecordedFile } from "./record.ts";

type Read<T> = (value: unknown, path: string) => T;
type Fields<T> = { readonly [K in keyof T]-?: Read<T[K]> };

const text: Read<string> = (value, path) => (typeof value === "string" ? value : wrong(path, "a text"));
const flag: Read<boolean> = (value, path) => (typeof value === "boolean" ? value : wrong(path, "true or false"));
const count: Read<number> = (value, path) =>
  Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : wrong(path, "a whole number");

const FILE: Fields<RecordedFile> = { url: text, filename: text, mediaType: text, digest: text, bytes: count };
const CONTENT: Fields<RecordedContent> = { digest: text, bytes: count, complete: flag, kept: flag, files: list(object(FILE)) };
const AGENT: Fields<RecordedAgent> = { name: text, binding: text, url: text, tenant: text, protocolVersion: text };
const OBSERVED: Fields<NonNullable<AcceptanceRecord["observed"]>> = {
  by: oneOf("get-task", "snapshot", "stream", "push"),
  state: text,
  at: text,
};
const CHECK: Fields<CheckResult> = { criterion: text, passed: flag, by: text, at: text, output: text };
const GAP: Fields<Gap> = { what: text, owner: text };

/** The fields, in the order in which they are written. */
const RECORD: Fields<AcceptanceRecord> = {
  format: (value, path) => (value === 1 ? 1 : wrong(path, "1: another version of this program may have written it")),
  id: text,
  at: text,
  by: text,
  decision: oneOf("provisional", "held", "accepted", "rejected"),
  reason: text,
  version: optional(count),
  predecessor: optional(text),
  contextId: text,
  taskId: text,
  messageId: optional(text),
  artifactId: text,
  work: text,
  referenceTaskIds: list(text),
  agent: optional(object(AGENT)),
  observed: optional(object(OBSERVED)),
  content: optional(object(CONTENT)),
  criteria: list(text),
  checks: list(object(CHECK)),
  gaps: list(object(GAP)),
};

/** The record as a JSON text of several lines. */
export function recordText(record: AcceptanceRecord): string {
  const named = Object.keys(RECORD).map((name) => [name, record[name as keyof AcceptanceRecord]]);
  return `${JSON.stringify(Object.fromEntries(named), null, 2)}\n`;
}

/** Reads such a text; fields that are not known are left out. Throws AcceptanceError for what is no record, with the field that is wrong. */
export function readRecord(json: string): AcceptanceRecord {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (cause) {
    throw new AcceptanceError("record", `it is not JSON: ${(cause as Error).message}`, { cause });
  }
  return object(RECORD)(value, "");
}

function object<T>(fields: Fields<T>): Read<T> {
  const known = Object.entries<Read<unknown>>(fields);
  return (value, path) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return wrong(path, "an object");
    const given = value as Readonly<Record<string, unknown>>;
    const read = known.map(([name, field]) => [name, field(given[name], path === "" ? name : `${path}.${name}`)] as const);
    const held: unknown = Object.fromEntries(read.filter(([, one]) => one !== undefined));
    return held as T;
  };
}

function list<T>(read: Read<T>): Read<readonly T[]> {
  return (value, path) => (Array.isArray(value) ? value.map((one, at) => read(one, `${path}[${at}]`)) : wrong(path, "a list"));
}

/** A field that may be absent: {@link object} leaves it out. */
function optional<T>(read: Read<T>): Read<T> {
  return (value, path) => (value === undefined ? (undefined as T) : read(value, path));
}

function oneOf<const T extends string>(...words: readonly T[]): Read<T> {
  return (value, path) => words.find((word) => word === value) ?? wrong(path, words.join(", "));
}

function wrong(path: string, expected: string): never {
  throw new AcceptanceError(path || "record", `it must be ${expected}`);
}
