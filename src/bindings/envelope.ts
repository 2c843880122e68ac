/** Messages in envelopes, as gRPC, gRPC-Web and Connect's streams have them: one byte of flags, four of length, the bytes. */
import { create, type DescMessage, type Message } from "@bufbuild/protobuf";
import { formsOf, wireBytes, wireJson } from "../rpc/wire-cache.ts";

/** Bytes before those of the message. */
export const ENVELOPE_BYTES = 5;

/** How a message is written within its envelope. */
export type Codec = "proto" | "json";

/** The bytes as Node's streams want them, not copied. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Puts bytes into an envelope. */
export function envelope(flags: number, bytes: Uint8Array | string): Buffer {
  const length = typeof bytes === "string" ? Buffer.byteLength(bytes) : bytes.length;
  const frame = Buffer.allocUnsafe(length + ENVELOPE_BYTES);
  frame[0] = flags;
  frame.writeUInt32BE(length, 1);
  if (typeof bytes === "string") frame.write(bytes, ENVELOPE_BYTES);
  else frame.set(bytes, ENVELOPE_BYTES);
  return frame;
}

/** A message in its envelope, not compressed. Made once for all streams, of whatever protocol, that carry the same message object. */
export function framed(desc: DescMessage, value: Message, codec: Codec = "proto"): Buffer {
  const forms = formsOf(value);
  if (forms === undefined) return framedAnew(desc, create(desc, value as never), codec);
  if (codec === "proto") return (forms.protoFrame ??= framedAnew(desc, value, codec));
  return (forms.jsonFrame ??= framedAnew(desc, value, codec));
}

function framedAnew(desc: DescMessage, message: Message, codec: Codec): Buffer {
  return envelope(0, codec === "proto" ? wireBytes(desc, message) : wireJson(desc, message));
}
