/** Reads ProtoJSON that callers send: says everything that is wrong with it, each with its place, and only then decodes. */
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescOneof,
  fromJson,
  type JsonObject,
  type JsonValue,
  type MessageShape,
  type ScalarType,
} from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import type { ConnectError } from "@connectrpc/connect";
import type { Violation } from "../core/errors.ts";
import { connectError } from "./errors.ts";
import {
  durationProblem,
  enumProblem,
  fieldMaskProblem,
  mapKeyProblem,
  scalarProblem,
  stringProblem,
  timestampText,
} from "./json-scalar.ts";
import { REQUEST_BOUNDS } from "./request-bounds.ts";

/** Violations beyond this many are not collected. */
const MAX_VIOLATIONS = 100;
/** Characters of a field's path that an error shows, and of one key in it: keys are the caller's and may be of any length. */
const MAX_PATH = 200;
const MAX_KEY = 60;

/** What {@link parseJsonInput} takes besides the JSON. */
export interface JsonInputOptions {
  /** How many messages may lie within each other. Default: that of {@link REQUEST_BOUNDS}. */
  readonly maxDepth?: number;
}

/**
 * Decodes a message from ProtoJSON. Unknown members are ignored (R-271); JSON names, proto names and enum numbers are taken, null means
 * unset except in a google.protobuf.Value (R-265). `path` is put before every field that an error names. Throws INVALID_ARGUMENT with all
 * violations: wrong types and ranges, unknown enum names (C-41), two members of one oneof, one field under both its names, bad base64 and
 * times, nesting that is too deep, a google.protobuf.Any. Whether required fields are there is not its business.
 */
export function parseJsonInput<Desc extends DescMessage>(
  desc: Desc,
  value: JsonValue,
  path = "",
  options: JsonInputOptions = {},
): MessageShape<Desc> {
  const recursionLimit = options.maxDepth ?? REQUEST_BOUNDS.depth;
  const input = new InputWalk(recursionLimit);
  const json = input.message(desc, value, path, 1);
  if (input.violations.length > 0) throw invalidFields(input.violations);
  try {
    return fromJson(desc, json, { ignoreUnknownFields: true, recursionLimit });
  } catch (cause) {
    throw invalidFields([{ field: path, description: `is no valid ${desc.name}` }], cause);
  }
}

/** The JSON of a message as protobuf's decoder takes it: without the nulls that mean unset, and with times that are not too fine. */
export function withoutNulls(desc: DescMessage, json: JsonValue): JsonValue {
  return new InputWalk(REQUEST_BOUNDS.depth).message(desc, json, "", 1);
}

/** The INVALID_ARGUMENT error for bad fields (R-237, C-30); its message is the first violation and the number of the others. */
export function invalidFields(violations: readonly Violation[], cause?: unknown): ConnectError {
  const { field, description } = violations[0] ?? { field: "", description: "is not valid" };
  const more = violations.length > 1 ? ` (and ${violations.length - 1} more)` : "";
  return connectError("INVALID_ARGUMENT", `${field === "" ? "the request" : `${field}:`} ${description}${more}`, { violations, cause });
}

/** The type of one value: of a singular field, of a list's items or of a map's values. */
interface ValueType {
  readonly scalar?: ScalarType | undefined;
  readonly enum?: DescEnum | undefined;
  readonly message?: DescMessage | undefined;
}

/**
 * Follows the JSON along the descriptor. Each method returns what the decoder shall read: the value itself, or a copy without nulls that
 * mean unset (the decoder would count them as members of a oneof) and with times that it takes.
 */
class InputWalk {
  readonly violations: Violation[] = [];
  readonly #maxDepth: number;

  constructor(maxDepth: number) {
    this.#maxDepth = maxDepth;
  }

  message(desc: DescMessage, json: JsonValue, path: string, depth: number): JsonValue {
    if (this.#tooDeep(path, depth)) return json;
    switch (desc.typeName) {
      case "google.protobuf.Struct":
        return isObject(json) && isPlain(json, this.#maxDepth - depth) ? json : this.#struct(json, path, depth);
      case "google.protobuf.ListValue":
        return Array.isArray(json) && isPlain(json, this.#maxDepth - depth) ? json : this.#listValue(json, path, depth);
      case "google.protobuf.Value":
        return isPlain(json, this.#maxDepth - depth) ? json : this.#value(json, path, depth);
      case "google.protobuf.Timestamp":
        return this.#timestamp(json, path);
      case "google.protobuf.Duration":
        return this.#checked(durationProblem(json), json, path);
      case "google.protobuf.FieldMask":
        return this.#checked(fieldMaskProblem(json), json, path);
      case "google.protobuf.Any":
        return this.#checked("cannot be given here", json, path);
      default:
        if (isWrapperDesc(desc)) return this.#checked(scalarProblem(desc.fields[0].scalar, json), json, path);
        return this.#members(desc, json, path, depth);
    }
  }

  #members(desc: DescMessage, json: JsonValue, path: string, depth: number): JsonValue {
    if (!isObject(json)) return this.#checked("must be an object", json, path);
    const names = fieldNames(desc);
    const given = new Map<DescField, string>();
    const chosen = new Map<DescOneof, DescField>();
    return rebuild(json, (key, value) => {
      const field = names.get(key);
      if (field === undefined) return value;
      const place = member(path, field.jsonName);
      if (given.has(field)) this.#add(place, `is given twice, as ${given.get(field)} and ${key}`);
      given.set(field, key);
      if (value === null && !takesNull(field)) return undefined;
      if (field.oneof !== undefined) {
        const other = chosen.get(field.oneof);
        if (other !== undefined && other !== field) this.#add(place, `cannot be given together with ${other.jsonName}`);
        chosen.set(field.oneof, field);
      }
      return this.#field(field, value, place, depth);
    });
  }

  #field(field: DescField, json: JsonValue, path: string, depth: number): JsonValue {
    if (field.fieldKind === "list") {
      if (!Array.isArray(json)) return this.#checked("must be an array", json, path);
      return json.map((item, index) => this.#single(field, item, `${path}[${index}]`, depth));
    }
    if (field.fieldKind !== "map") return this.#single(field, json, path, depth);
    if (!isObject(json)) return this.#checked("must be an object", json, path);
    return rebuild(json, (key, value) => {
      const place = member(path, key);
      const problem = mapKeyProblem(field.mapKey, key);
      if (problem !== undefined) this.#add(path, `has a key that is wrong: it ${problem}`);
      return this.#single(field, value, place, depth);
    });
  }

  #single(type: ValueType, json: JsonValue, path: string, depth: number): JsonValue {
    if (json === null && !takesNull(type)) return this.#checked("must not be null", json, path);
    if (type.message !== undefined) return this.message(type.message, json, path, depth + 1);
    if (type.enum !== undefined) return json === null ? json : this.#checked(enumProblem(type.enum, json), json, path);
    return type.scalar === undefined ? json : this.#checked(scalarProblem(type.scalar, json), json, path);
  }

  #struct(json: JsonValue, path: string, depth: number): JsonValue {
    if (this.#tooDeep(path, depth)) return json;
    if (!isObject(json)) return this.#checked("must be an object", json, path);
    for (const [key, value] of Object.entries(json)) {
      const problem = stringProblem(key);
      if (problem !== undefined) this.#add(path, `has a key that is wrong: it ${problem}`);
      this.#value(value, member(path, key), depth + 1);
    }
    return json;
  }

  #listValue(json: JsonValue, path: string, depth: number): JsonValue {
    if (this.#tooDeep(path, depth)) return json;
    if (!Array.isArray(json)) return this.#checked("must be an array", json, path);
    for (const [index, item] of json.entries()) this.#value(item, `${path}[${index}]`, depth + 1);
    return json;
  }

  /** Any JSON value; only what binary cannot hold is wrong. */
  #value(json: JsonValue, path: string, depth: number): JsonValue {
    if (this.#tooDeep(path, depth)) return json;
    if (typeof json === "string") return this.#checked(stringProblem(json), json, path);
    if (typeof json === "number")
      return this.#checked(Number.isFinite(json) ? undefined : "must be within the range of a double", json, path);
    if (Array.isArray(json)) return this.#listValue(json, path, depth + 1);
    return isObject(json) ? this.#struct(json, path, depth + 1) : json;
  }

  #timestamp(json: JsonValue, path: string): JsonValue {
    const text = timestampText(json);
    return text ?? this.#checked("must be an RFC 3339 time, such as 2026-01-02T03:04:05.678Z", json, path);
  }

  #tooDeep(path: string, depth: number): boolean {
    if (depth <= this.#maxDepth) return false;
    this.#add(path, `is nested too deep: more than ${this.#maxDepth} levels`);
    return true;
  }

  #checked(problem: string | undefined, json: JsonValue, path: string): JsonValue {
    if (problem !== undefined) this.#add(path, problem);
    return json;
  }

  #add(field: string, description: string): void {
    if (this.violations.length >= MAX_VIOLATIONS) return;
    this.violations.push({ field: field.slice(0, MAX_PATH).toWellFormed(), description });
  }
}

/**
 * Whether free JSON holds nothing that is wrong, and lies no deeper than `levels`; an object or array in another counts two. What is not plain is
 * walked again for its places: to name the place of each of 100,000 values costs more than all else of a request.
 */
function isPlain(json: JsonValue, levels: number): boolean {
  if (levels < 0) return false;
  if (typeof json === "string") return json.isWellFormed();
  if (typeof json === "number") return Number.isFinite(json);
  if (typeof json !== "object" || json === null) return true;
  if (levels < 1) return false;
  if (Array.isArray(json)) return json.every((item) => isPlain(item, levels - 2));
  for (const key of Object.keys(json)) if (!key.isWellFormed() || !isPlain(json[key] as JsonValue, levels - 2)) return false;
  return true;
}

const namesOf = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>();

/** The fields of a message by JSON name and by proto name. */
function fieldNames(desc: DescMessage): ReadonlyMap<string, DescField> {
  let names = namesOf.get(desc);
  if (names === undefined) {
    names = new Map(desc.fields.flatMap((field) => [field.name, field.jsonName].map((name) => [name, field])));
    namesOf.set(desc, names);
  }
  return names;
}

/** null is a value of these two types, and of no other. */
function takesNull(type: ValueType): boolean {
  return type.message?.typeName === "google.protobuf.Value" || type.enum?.typeName === "google.protobuf.NullValue";
}

function isObject(json: JsonValue): json is JsonObject {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}

/** `a.b`, and `a["b c"]` for what is no plain name. */
function member(path: string, name: string): string {
  if (name.length > MAX_KEY) return member(path, `${name.slice(0, MAX_KEY - 1)}…`);
  if (!/^\w+$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === "" ? name : `${path}.${name}`;
}

/** The object with every member replaced; undefined drops it. The same object where nothing changed. */
function rebuild(json: JsonObject, replace: (key: string, value: JsonValue) => JsonValue | undefined): JsonObject {
  let changed = false;
  const members: [string, JsonValue][] = [];
  for (const [key, value] of Object.entries(json)) {
    const next = replace(key, value);
    changed ||= next !== value;
    if (next !== undefined) members.push([key, next]);
  }
  return changed ? Object.fromEntries(members) : json;
}
