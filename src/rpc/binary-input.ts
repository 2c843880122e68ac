/** Reads binary that callers send, and judges what it may hold and ProtoJSON may not: values of no kind, numbers that are none, times before year 1. */
import {
  type BinaryReadOptions,
  type DescField,
  type DescMessage,
  fromBinary,
  isMessage,
  type JsonValue,
  type Message,
} from "@bufbuild/protobuf";
import { type Timestamp, TimestampSchema, type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Violation } from "../core/errors.ts";
import { NO_KIND, wireProblem } from "./binary-wire.ts";
import { invalidFields } from "./json-input.ts";
import { REQUEST_BOUNDS, type RequestBounds } from "./request-bounds.ts";

/** 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z. */
const MIN_SECONDS = -62_135_596_800n;
const MAX_SECONDS = 253_402_300_799n;

/** How requests are decoded. Unknown fields are dropped, as those of JSON are: what is kept comes back on some bindings only. */
const READ: Partial<BinaryReadOptions> = { readUnknownFields: false, recursionLimit: REQUEST_BOUNDS.depth };

/** Decodes a message. Throws INVALID_ARGUMENT with the first field that is not well formed; what the fields hold is {@link checkBinaryInput}'s. */
export function parseBinaryInput(desc: DescMessage, bytes: Uint8Array, bounds: RequestBounds): Message {
  const problem = wireProblem(desc, bytes, { bounds });
  if (problem !== undefined) throw invalidFields([problem]);
  try {
    return fromBinary(desc, bytes, READ);
  } catch (cause) {
    throw invalidFields(
      [wireProblem(desc, bytes, { bounds, utf8: true }) ?? { field: "", description: `is no valid ${desc.name}` }],
      cause,
    );
  }
}

/** Throws INVALID_ARGUMENT with every field that ProtoJSON could not say: such a request could be stored, but neither compared nor shown. */
export function checkBinaryInput(desc: DescMessage, message: Message): void {
  const bad: Violation[] = [];
  checkFields(desc, message, "", bad);
  if (bad.length > 0) throw invalidFields(bad);
}

const plans = new WeakMap<DescMessage, readonly DescField[]>();

/** The fields that lead to a value or a time, however deep; most messages have few. */
function fieldsToCheck(desc: DescMessage): readonly DescField[] {
  let plan = plans.get(desc);
  if (plan === undefined) {
    plan = desc.fields.filter((field) => field.message !== undefined && leadsToValue(field.message, new Set()));
    plans.set(desc, plan);
  }
  return plan;
}

function leadsToValue(desc: DescMessage, seen: Set<DescMessage>): boolean {
  if (seen.has(desc)) return false;
  seen.add(desc);
  if (["Struct", "Value", "ListValue", "Timestamp"].includes(desc.typeName.replace(/^google\.protobuf\./, ""))) return true;
  return desc.fields.some(({ message }) => message !== undefined && leadsToValue(message, seen));
}

function checkFields(desc: DescMessage, message: Message, path: string, bad: Violation[]): void {
  for (const field of fieldsToCheck(desc)) {
    const held = valueOf(message, field);
    if (held === undefined) continue;
    const place = path === "" ? field.jsonName : `${path}.${field.jsonName}`;
    if (field.fieldKind === "message") check(field.message, held, place, bad);
    else for (const [key, item] of Object.entries(held as object)) check(field.message as DescMessage, item, `${place}[${key}]`, bad);
  }
}

function valueOf(message: Message, field: DescField): unknown {
  const members = message as unknown as Record<string, unknown>;
  if (field.oneof === undefined) return members[field.localName];
  const chosen = members[field.oneof.localName] as { case?: string; value?: unknown };
  return chosen.case === field.localName ? chosen.value : undefined;
}

function check(desc: DescMessage, held: unknown, place: string, bad: Violation[]): void {
  if (desc.typeName === "google.protobuf.Struct") checkJson(held as JsonValue, place, bad);
  else if (isMessage(held, ValueSchema)) checkValue(held, place, bad);
  else if (isMessage(held, TimestampSchema)) checkTime(held, place, bad);
  else checkFields(desc, held as Message, place, bad);
}

/** Protobuf hands out a Struct as plain JSON. */
function checkJson(json: JsonValue, place: string, bad: Violation[]): void {
  if (typeof json === "number" && !Number.isFinite(json))
    bad.push({ field: place, description: "must hold no number that JSON cannot write" });
  if (typeof json === "object" && json !== null) for (const item of Object.values(json)) checkJson(item, place, bad);
}

function checkValue({ kind }: Value, place: string, bad: Violation[]): void {
  if (kind.case === undefined) bad.push({ field: place, description: NO_KIND });
  if (kind.case === "numberValue") checkJson(kind.value, place, bad);
  if (kind.case === "structValue") for (const item of Object.values(kind.value.fields)) checkValue(item, place, bad);
  if (kind.case === "listValue") for (const item of kind.value.values) checkValue(item, place, bad);
}

function checkTime({ seconds, nanos }: Timestamp, place: string, bad: Violation[]): void {
  const right = seconds >= MIN_SECONDS && seconds <= MAX_SECONDS && nanos >= 0 && nanos < 1_000_000_000;
  if (!right) bad.push({ field: place, description: "must be a time between the years 1 and 9999" });
}
