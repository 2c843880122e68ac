/** What may be given as text in a path or a query, and how it reads as ProtoJSON. */
import { type DescEnum, type DescField, type DescMessage, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";

/** Messages that ProtoJSON writes as a string. */
const TEXT_TYPES: ReadonlySet<string> = new Set(["google.protobuf.Timestamp", "google.protobuf.Duration", "google.protobuf.FieldMask"]);
/** Messages that ProtoJSON writes as free JSON: there is no going into them by field names. */
const FREE_TYPES: ReadonlySet<string> = new Set([
  "google.protobuf.Struct",
  "google.protobuf.Value",
  "google.protobuf.ListValue",
  "google.protobuf.Any",
]);

/** Whether one value of the field's type can be written as plain text: a scalar, an enum, a time, a wrapper. */
export function isTextual(field: DescField): boolean {
  return field.message === undefined || isWrapperDesc(field.message) || TEXT_TYPES.has(field.message.typeName);
}

/** Whether field names may follow this one: it is a single message with fields of its own. */
export function isParent(field: DescField): field is DescField & { readonly message: DescMessage } {
  return field.fieldKind === "message" && !isTextual(field) && !FREE_TYPES.has(field.message.typeName);
}

/** Whether a comma can only separate values, because no value of the type holds one (C-55). */
export function splitsAtCommas(field: DescField): boolean {
  const scalar = field.message === undefined ? field.scalar : isWrapperDesc(field.message) ? field.message.fields[0].scalar : undefined;
  return scalar !== ScalarType.STRING && field.message?.typeName !== "google.protobuf.FieldMask";
}

/** The text as ProtoJSON. What does not fit the type is left as it is, for the decoder to refuse. */
export function textToJson(field: DescField, text: string): JsonValue {
  if (field.enum !== undefined) return enumJson(field.enum, text);
  const scalar = field.message !== undefined && isWrapperDesc(field.message) ? field.message.fields[0].scalar : field.scalar;
  if (scalar !== ScalarType.BOOL) return text;
  return text === "true" ? true : text === "false" ? false : text;
}

function enumJson(desc: DescEnum, text: string): JsonValue {
  const named = desc.values.some((value) => value.name === text);
  return !named && /^-?\d{1,10}$/.test(text) ? Number(text) : text;
}
