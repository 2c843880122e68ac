/** Protobuf's wire, byte by byte: what no library would write can be written. */
import { type DescField, type DescMessage, fromJson, type JsonObject, type JsonValue, toBinary } from "@bufbuild/protobuf";
import { itemOf } from "./request-fields.ts";

/** A varint. */
export function varint(value: number | bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

/** The tag of a field. */
export function tag(number: number, wireType: number): Buffer {
  return varint((BigInt(number) << 3n) | BigInt(wireType));
}

/** Bytes behind their length. */
export function sized(bytes: Uint8Array, length: number = bytes.length): Buffer {
  return Buffer.concat([varint(length), bytes]);
}

/** A length-delimited field. */
export function record(number: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([tag(number, 2), sized(bytes)]);
}

/** A good message with bytes of one's own where the field at the end of the path stands. */
export function messageWith(desc: DescMessage, good: JsonObject, path: readonly DescField[], bytes: Uint8Array): Buffer {
  const [field, ...below] = path as [DescField, ...DescField[]];
  const others: JsonObject = { ...good };
  for (const one of below.length === 0 ? (field.oneof?.fields ?? [field]) : [field]) delete others[one.jsonName];
  const rest = toBinary(desc, fromJson(desc, others));
  if (below.length === 0) return Buffer.concat([rest, bytes]);
  const inner = messageWith(field.message as DescMessage, itemOf(good[field.jsonName] as JsonValue), below, bytes);
  return Buffer.concat([rest, record(field.number, inner)]);
}
