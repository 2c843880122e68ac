/** Arbitrary messages of any descriptor, for property tests. */
import {
  create,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonValue,
  type Message,
  type MessageInitShape,
  type MessageShape,
  ScalarType,
} from "@bufbuild/protobuf";
import { isWrapperDesc, ValueSchema } from "@bufbuild/protobuf/wkt";
import * as fc from "fast-check";

/** Messages that survive a JSON round trip exactly: without NaN and without the negative zero that JSON loses. */
export function arbitraryMessage<Desc extends DescMessage>(desc: Desc, depth = 4): fc.Arbitrary<MessageShape<Desc>> {
  return arbitraryInit(desc, depth).map((init) => create(desc, init as MessageInitShape<Desc>));
}

const unit = "binary";
const text = fc.string({ unit, maxLength: 8 });
const float = (is32: boolean): fc.Arbitrary<number> =>
  (is32 ? fc.float({ noNaN: true }) : fc.double({ noNaN: true })).map((value) => (value === 0 ? 0 : value));
const json = fc.jsonValue({ maxDepth: 3, stringUnit: unit });
const seconds = fc.bigInt({ min: -62_135_596_800n, max: 253_402_300_799n });
const nanos = fc.integer({ min: 0, max: 999_999_999 });
const fieldPath = fc.stringMatching(/^[a-z]{1,4}(_[a-z]{1,3})?(\.[a-z]{1,3})?$/);

/** One value of a scalar type. */
function arbitraryScalar(type: ScalarType): fc.Arbitrary<unknown> {
  switch (type) {
    case ScalarType.STRING:
      return text;
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 8 });
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return float(type === ScalarType.FLOAT);
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return fc.integer({ min: 0, max: 2 ** 32 - 1 });
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    default:
      return fc.integer();
  }
}

function arbitraryInit(desc: DescMessage, depth: number): fc.Arbitrary<object> {
  const plain = desc.fields.filter((field) => field.oneof === undefined);
  const members: Record<string, fc.Arbitrary<unknown>> = {};
  for (const field of plain) members[field.localName] = arbitraryField(field, depth);
  for (const oneof of desc.oneofs) {
    const cases = oneof.fields.filter((field) => depth > 1 || field.message === undefined);
    if (cases.length === 0) continue;
    members[oneof.localName] = fc.oneof(
      ...cases.map((field) => fc.record({ case: fc.constant(field.localName), value: arbitraryField(field, depth) })),
    );
  }
  return fc.record(members, { requiredKeys: [] });
}

function arbitraryField(field: DescField, depth: number): fc.Arbitrary<unknown> {
  const one = arbitraryOne(field, depth);
  if (field.fieldKind === "list") return fc.array(one, { maxLength: 3 });
  return field.fieldKind === "map" ? fc.dictionary(text, one, { maxKeys: 3 }) : one;
}

function arbitraryOne(field: DescField, depth: number): fc.Arbitrary<unknown> {
  if (field.enum !== undefined) return fc.constantFrom(...field.enum.values.map((value) => value.number));
  if (field.message === undefined) return arbitraryScalar(field.scalar);
  switch (field.message.typeName) {
    case "google.protobuf.Struct":
      return fc.dictionary(text, json, { maxKeys: 3 });
    case "google.protobuf.Value":
      return json.map((value): Message => fromJson(ValueSchema, value as JsonValue));
    case "google.protobuf.Timestamp":
      return fc.record({ seconds, nanos });
    case "google.protobuf.Duration":
      return fc.record({ seconds: fc.bigInt({ min: 0n, max: 315_576_000_000n }), nanos });
    case "google.protobuf.FieldMask":
      return fc.array(fieldPath, { maxLength: 3 }).map((paths) => ({ paths }));
    default:
      if (isWrapperDesc(field.message)) return arbitraryWrapper(field, field.message.fields[0].scalar);
      return depth > 1 ? arbitraryInit(field.message, depth - 1) : fc.constant({});
  }
}

/** A singular field holds the bare value, a list holds wrapper messages. */
function arbitraryWrapper(field: DescField, type: ScalarType): fc.Arbitrary<unknown> {
  const value = arbitraryScalar(type);
  return field.fieldKind === "message" ? value : value.map((bare) => ({ value: bare }));
}
