/** What ProtoJSON allows for one value: scalars, enums, and the well-known types that are written as a string. */
import { type DescEnum, type JsonValue, ScalarType } from "@bufbuild/protobuf";

const INT32: readonly [bigint, bigint] = [-(2n ** 31n), 2n ** 31n - 1n];
const FLOAT_MAX = 3.4028234663852886e38;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const INTEGER = /^-?(?:0|[1-9]\d*)$/;
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;
const TIMESTAMP = /^(\d{4})-(\d{2})-(\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.(\d+))?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
const DURATION = /^-?(\d{1,12})(?:\.\d{1,9})?s$/;
const FIELD_MASK = /^(?:[A-Za-z0-9.]+(?:,[A-Za-z0-9.]+)*)?$/;

const DURATION_MAX_SECONDS = 315_576_000_000;
const TIMESTAMP_MIN = Date.parse("0001-01-01T00:00:00Z");
const TIMESTAMP_END = Date.parse("9999-12-31T23:59:59Z") + 1000;
/** Longest decimal form of a 64-bit integer. */
const INTEGER_LENGTH = 20;
/** How many enum names a description lists. */
const LISTED_NAMES = 20;

/** What would be right where `json` is no value of the scalar type; undefined where it is one. Integers may be strings. */
export function scalarProblem(type: ScalarType, json: JsonValue): string | undefined {
  switch (type) {
    case ScalarType.STRING:
      return stringProblem(json);
    case ScalarType.BOOL:
      return typeof json === "boolean" ? undefined : "must be true or false";
    case ScalarType.BYTES:
      return isBase64(json) ? undefined : "must be a base64 string";
    case ScalarType.DOUBLE:
      return isFloat(json, Number.MAX_VALUE) ? undefined : "must be a number";
    case ScalarType.FLOAT:
      return isFloat(json, FLOAT_MAX) ? undefined : "must be a number within the range of a float";
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return integerProblem(json, 0n, 2n ** 32n - 1n);
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return integerProblem(json, 0n, 2n ** 64n - 1n);
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return integerProblem(json, -(2n ** 63n), 2n ** 63n - 1n);
    default:
      return integerProblem(json, ...INT32);
  }
}

/** As {@link scalarProblem}, for a map key, which JSON always writes as a string. */
export function mapKeyProblem(type: ScalarType, key: string): string | undefined {
  if (type === ScalarType.BOOL) return key === "true" || key === "false" ? undefined : "must have the keys true and false only";
  return scalarProblem(type, key);
}

/** Names keep their case; numbers are taken too, unknown ones where the enum is open (C-41, R-259, R-265). */
export function enumProblem(desc: DescEnum, json: JsonValue): string | undefined {
  const known =
    typeof json === "number"
      ? desc.value[json] !== undefined || (desc.open && integerProblem(json, ...INT32) === undefined)
      : desc.values.some((value) => value.name === json || value.jsonName === json);
  if (known) return undefined;
  // The value 0 says nothing: nobody is to choose it.
  const names = desc.values.filter(({ number }) => number !== 0).map(({ name }) => name);
  return `must be one of ${names.slice(0, LISTED_NAMES).join(", ")}${names.length > LISTED_NAMES ? ", …" : ""}`;
}

/** Strings of protobuf are UTF-8, so half a surrogate pair has no place in them. */
export function stringProblem(json: JsonValue): string | undefined {
  if (typeof json !== "string") return "must be a string";
  return json.isWellFormed() ? undefined : "must be well-formed Unicode, without half of a surrogate pair";
}

/** What would be right where `json` is no google.protobuf.Duration, such as `1.5s`. */
export function durationProblem(json: JsonValue): string | undefined {
  const match = typeof json === "string" ? DURATION.exec(json) : null;
  return match !== null && Number(match[1]) <= DURATION_MAX_SECONDS ? undefined : "must be seconds with the suffix s, such as 1.5s";
}

/** What would be right where `json` is no google.protobuf.FieldMask. */
export function fieldMaskProblem(json: JsonValue): string | undefined {
  const right = typeof json === "string" && FIELD_MASK.test(json);
  return right ? undefined : "must be field paths in lowerCamelCase, separated by commas";
}

/**
 * Checks a google.protobuf.Timestamp and returns it with nine digits of fraction at most, which is what the type holds; more digits
 * are cut (C-57). Undefined where it is no RFC 3339 time of the years 1 to 9999. Offsets other than Z are understood.
 */
export function timestampText(json: JsonValue): string | undefined {
  const match = typeof json === "string" ? TIMESTAMP.exec(json) : null;
  if (match === null) return undefined;
  const [text, year, month, day, , fraction] = match;
  if (Number(day) < 1 || Number(day) > daysOf(Number(year), Number(month))) return undefined;
  const ms = Date.parse(fraction === undefined ? text : text.replace(`.${fraction}`, ""));
  if (Number.isNaN(ms) || ms < TIMESTAMP_MIN || ms >= TIMESTAMP_END) return undefined;
  return fraction === undefined || fraction.length <= 9 ? text : text.replace(fraction, fraction.slice(0, 9));
}

/** JavaScript takes 30 February for 2 March, RFC 3339 does not. */
function daysOf(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

/** Both alphabets, padded or not. */
function isBase64(json: JsonValue): boolean {
  if (typeof json !== "string" || !BASE64.test(json)) return false;
  return json.endsWith("=") ? json.length % 4 === 0 : json.length % 4 !== 1;
}

function isFloat(json: JsonValue, max: number): boolean {
  if (json === "NaN" || json === "Infinity" || json === "-Infinity") return true;
  const value = typeof json === "string" && NUMBER.test(json) ? Number(json) : json;
  return typeof value === "number" && Math.abs(value) <= max;
}

function integerProblem(json: JsonValue, min: bigint, max: bigint): string | undefined {
  const wide = max > Number.MAX_SAFE_INTEGER;
  if (wide && typeof json === "number" && Number.isInteger(json) && !Number.isSafeInteger(json)) {
    return "must be a string where it is beyond 2^53, because JSON numbers lose digits there";
  }
  const value = wide ? wideInteger(json) : narrowInteger(json);
  return value !== undefined && value >= min && value <= max ? undefined : `must be an integer from ${min} to ${max}`;
}

function wideInteger(json: JsonValue): bigint | undefined {
  if (typeof json === "number") return Number.isInteger(json) ? BigInt(json) : undefined;
  return typeof json === "string" && json.length <= INTEGER_LENGTH && INTEGER.test(json) ? BigInt(json) : undefined;
}

/** 32 bits: ProtoJSON allows an exponent in a string too, as long as the value is whole. */
function narrowInteger(json: JsonValue): number | undefined {
  const value = typeof json === "string" && NUMBER.test(json) ? Number(json) : json;
  return typeof value === "number" && Number.isInteger(value) ? value : undefined;
}
