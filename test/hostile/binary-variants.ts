/** Requests in binary that are good but for one field. */
import { type DescField, type DescMessage, type DescMethod, fromJson, ScalarType, toBinary } from "@bufbuild/protobuf";
import { accepted, goodOutcome, hollowOutcome, type Outcome, outcomeOf, type Variant, withoutField } from "./expectations.ts";
import { type FieldPath, goodRequestAround, goodValue, isPlain, jsonPath, type Targets } from "./request-fields.ts";
import { LONG, PLAIN } from "./texts.ts";
import { messageWith, record, sized, tag, varint } from "./wire.ts";

/** Bytes in the place of a field, and what they lead to. */
type Bytes = readonly [name: string, bytes: Uint8Array, outcome: Outcome];

/** No text: bytes that begin no character, overlong forms, halves of surrogate pairs, what lies beyond Unicode. */
const NO_UTF8 = [
  [0xff],
  [0xc3],
  [0xc0, 0x80],
  [0xe0, 0x80, 0xaf],
  [0xed, 0xa0, 0x80],
  [0xed, 0xa0, 0xbd, 0xed, 0xb2, 0xa5],
  [0xf5, 0x80, 0x80, 0x80],
];

/** All variants of one field. */
export function binaryVariants(method: DescMethod, path: FieldPath, targets: Targets): Variant<Uint8Array>[] {
  const field = path.at(-1) as DescField;
  const good = goodBytes(field, method, targets);
  const around = goodRequestAround(path, method, targets);
  const cases: Bytes[] = [
    ...wireCases(field, path, good, goodOutcome(path, method, targets)),
    ...valueCases(field, path, method),
    ...(field.oneof === undefined ? [["nothing", Buffer.alloc(0), withoutField(path, method)] as const] : []),
  ];
  return cases.map(([name, bytes, outcome]) => ({ name, request: messageWith(method.input, around, path, bytes), outcome }));
}

/** Good bytes of a field, its tag first. */
function goodBytes(field: DescField, method: DescMethod, targets: Targets): Uint8Array {
  const json = { [field.jsonName]: goodValue(field, method, targets) };
  return toBinary(field.parent, fromJson(field.parent, json));
}

/** What is wrong, or only odd, about the wire whatever the field holds. */
function wireCases(field: DescField, path: FieldPath, good: Uint8Array, fine: Outcome): Bytes[] {
  const bad: Outcome = { reason: "INVALID_ARGUMENT", fields: [itemPath(field, path)] };
  // What breaks the framing is the fault of what it lies in.
  const [, parent] = /^(.*)\.[^.]+$/.exec(jsonPath(path)) ?? [];
  const around: Outcome = { reason: "INVALID_ARGUMENT", fields: parent === undefined ? [""] : [parent] };
  const type = (good[0] as number) & 7;
  const payloads = [varint(1), Buffer.alloc(8, 1), sized(Buffer.from("\x08\x01")), Buffer.alloc(0), Buffer.alloc(0), Buffer.alloc(4, 1)];
  const others = [0, 1, 2, 5].filter((other) => other !== type);
  const groups: Bytes[] = [
    ["as a group", Buffer.concat([tag(field.number, 3), tag(field.number, 4)]), bad],
    ["as the end of a group", tag(field.number, 4), bad],
  ];
  return [
    ...others.map((other): Bytes => [`as wire type ${other}`, Buffer.concat([tag(field.number, other), payloads[other] as Buffer]), bad]),
    ...groups,
    ["as wire type 6", tag(field.number, 6), bad],
    ["its tag alone", tag(field.number, type), bad],
    ["cut short", good.subarray(0, -1), bad],
    ["field 0", Buffer.concat([tag(0, 0), varint(1)]), around],
    ["a tag beyond 32 bits", Buffer.concat([varint(1n << 35n), varint(1)]), around],
    ["a tag without end", Buffer.alloc(12, 0xff), around],
    ["unknown fields beside it", Buffer.concat([unknownFields(), good, unknownFields()]), fine],
    ["an unknown group that does not end", Buffer.concat([tag(99, 3), good]), around],
    ["an unknown group with another end", Buffer.concat([tag(99, 3), tag(98, 4)]), around],
    ["unknown groups without end", Buffer.alloc(3000, tag(99, 3)), around],
    ["an unknown field beyond the message", Buffer.concat([tag(99, 2), varint(1000)]), around],
    ["twice", Buffer.concat([good, good]), fine],
    ...(type === 2 ? lengthCases(field, bad) : numberCases(field, bad)),
  ];
}

function itemPath(field: DescField, path: FieldPath): string {
  return field.fieldKind === "list" ? `${jsonPath(path)}[0]` : jsonPath(path);
}

function unknownFields(): Buffer {
  const group = Buffer.concat([tag(77, 3), tag(78, 3), tag(78, 4), record(79, Buffer.from([0xff])), tag(77, 4)]);
  const fixed = Buffer.concat([tag(75, 1), Buffer.alloc(8, 255), tag(76, 5), Buffer.alloc(4, 255)]);
  return Buffer.concat([tag(74, 0), varint(-1n), fixed, group, record(2 ** 29 - 1, Buffer.from("\xff"))]);
}

function lengthCases(field: DescField, bad: Outcome): Bytes[] {
  const lengths = [100_000, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53, 2n ** 64n - 1n];
  return [
    ...lengths.map((length): Bytes => [
      `a length of ${length}`,
      Buffer.concat([tag(field.number, 2), varint(length), Buffer.from("x")]),
      bad,
    ]),
    ["a length without end", Buffer.concat([tag(field.number, 2), Buffer.alloc(11, 0x80), Buffer.of(1)]), bad],
  ];
}

function numberCases(field: DescField, bad: Outcome): Bytes[] {
  return [["a number without end", Buffer.concat([tag(field.number, 0), Buffer.alloc(10, 0xff), Buffer.of(1)]), bad]];
}

/** What is wrong with what the field holds. */
function valueCases(field: DescField, path: FieldPath, method: DescMethod): Bytes[] {
  const place = itemPath(field, path);
  const bad: Outcome = { reason: "INVALID_ARGUMENT", fields: [place] };
  const of = (value: Uint8Array): Buffer => record(field.number, value);
  if (field.enum !== undefined) {
    return [99, -1, 2 ** 31 - 1, -(2 ** 31)].map((value) => [
      `the number ${value}`,
      Buffer.concat([tag(field.number, 0), varint(value)]),
      bad,
    ]);
  }
  if (field.message !== undefined) {
    if (isPlain(field.message)) return plainCases(field, field.message, bad, accepted(method));
    return [["an empty message", of(Buffer.alloc(0)), hollowOutcome(field, place, method)]];
  }
  switch (field.scalar) {
    case ScalarType.STRING: {
      const list = field.fieldKind === "list";
      const meaning = (value: string, verdict: "plain" | "long"): Outcome => outcomeOf({ text: "", verdict, value }, path, method);
      return [
        ...NO_UTF8.map((bytes): Bytes => [`bytes ${Buffer.from(bytes).toString("hex")}`, of(Buffer.from(bytes)), bad]),
        ["bytes that end within a character", of(Buffer.from("ü💥").subarray(0, -1)), bad],
        ...PLAIN.map((value): Bytes => [JSON.stringify(value), of(Buffer.from(value)), meaning(value, "plain")]),
        [LONG, of(Buffer.from(LONG)), list ? accepted(method) : meaning(LONG, "long")],
      ];
    }
    case ScalarType.INT32:
      return [0, 1, -1, 101, 2 ** 31 - 1, -(2 ** 31)].map((value) => [
        `the number ${value}`,
        Buffer.concat([tag(field.number, 0), varint(value)]),
        outcomeOf({ text: "", verdict: value }, path, method),
      ]);
    default:
      return [];
  }
}

/** Messages that ProtoJSON writes as plain values can hold in binary what JSON cannot say. */
function plainCases(field: DescField, desc: DescMessage, bad: Outcome, fine: Outcome): Bytes[] {
  const value = (...bytes: readonly Uint8Array[]): Buffer => Buffer.concat(bytes);
  const number = (bits: number): Buffer => {
    const bytes = Buffer.alloc(9, tag(2, 1));
    bytes.writeDoubleLE(bits, 1);
    return bytes;
  };
  const list = (item: Uint8Array): Buffer => record(6, record(1, item));
  const member = (key: string, item: Uint8Array): Buffer => record(1, value(record(1, Buffer.from(key)), record(2, item)));
  const nested = (depth: number): Buffer => (depth === 0 ? number(1) : list(nested(depth - 1)));
  const values: Bytes[] = [
    ["a value of no kind", Buffer.alloc(0), bad],
    ["NaN", number(NaN), bad],
    ["infinity in a list", list(number(-Infinity)), bad],
    ["a text that is none", record(3, Buffer.of(0xff)), bad],
    ["nested too deep", nested(50), bad],
    ["a list that is longer than its value", value(tag(6, 2), varint(50), record(1, number(1))), bad],
    ["an object with __proto__", record(5, member("__proto__", number(1))), fine],
    ["a number that is not safe", number(2 ** 60), fine],
    ["a kind that is unknown", record(9, Buffer.from("x")), bad],
    ["two kinds", value(number(1), record(3, Buffer.from("x"))), fine],
  ];
  const timestamp = (seconds: bigint, nanos: number): Buffer => value(tag(1, 0), varint(seconds), tag(2, 0), varint(nanos));
  switch (desc.typeName) {
    case "google.protobuf.Value":
      return values.map(([name, bytes, outcome]) => [name, record(field.number, bytes), outcome]);
    case "google.protobuf.Struct":
      return [
        ...values.map(([name, bytes, outcome]): Bytes => [name, record(field.number, member("k", bytes)), outcome]),
        ["a member without a value", record(field.number, record(1, record(1, Buffer.from("k")))), bad],
        ["a key that is no text", record(field.number, record(1, value(record(1, Buffer.of(0xc0, 0x80)), record(2, number(1))))), bad],
        ["a key as a number", record(field.number, record(1, value(tag(1, 0), varint(1)))), bad],
      ];
    default:
      return [
        ["seconds before year 1", record(field.number, timestamp(-62_135_596_801n, 0)), bad],
        ["seconds after year 9999", record(field.number, timestamp(253_402_300_800n, 0)), bad],
        ["the most of seconds", record(field.number, timestamp(2n ** 63n - 1n, 0)), bad],
        ["a negative fraction", record(field.number, timestamp(0n, -1)), bad],
        ["a fraction of more than a second", record(field.number, timestamp(0n, 1_000_000_000)), bad],
        ["the first second", record(field.number, timestamp(-62_135_596_800n, 0)), fine],
        ["the last nanosecond", record(field.number, timestamp(253_402_300_799n, 999_999_999)), fine],
      ];
  }
}
