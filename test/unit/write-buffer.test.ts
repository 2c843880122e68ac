import assert from "node:assert/strict";
import { test } from "node:test";
import { type Message, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import * as fc from "fast-check";
import { StreamResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { shareWriteBuffer } from "../../src/server/write-buffer.ts";
import { arbitraryMessage } from "./message-arbitrary.ts";

const text = (length: number): string => "x".repeat(length);
/** Around the size of the buffer, and far from it. */
const SIZES = [0, 1, 100, 8000, 8186, 8187, 8188, 8189, 8190, 8191, 8192, 8193, 10_000, 16_384, 100_000];

function written(texts: readonly string[], writer = new BinaryWriter()): Uint8Array {
  for (const one of texts) writer.tag(1, 2).fork().tag(2, 2).string(one).tag(3, 1).fixed64(7n).join();
  return writer.finish();
}

test("the writers of protobuf-es are as they are expected to be", () => {
  const writer = new BinaryWriter();
  for (const name of ["buffer", "viewCache", "pos", "stackPos"]) assert.ok(Object.hasOwn(writer, name), name);
  for (const name of ["ensureCapacity", "finish"]) assert.ok(Object.hasOwn(BinaryWriter.prototype, name), name);
});

test("what is encoded in a shared buffer is what is encoded without", () => {
  const messages = fc.sample(arbitraryMessage(StreamResponseSchema), { numRuns: 200, seed: 1 });
  const sizes = SIZES.flatMap((size) => [[text(size)], [text(size), "ü".repeat(size)], [text(10), text(size), text(10)]]);
  const plain = messages.map((message) => toBinary(StreamResponseSchema, message));
  const plainTexts = sizes.map((texts) => written(texts));
  shareWriteBuffer();
  shareWriteBuffer();
  const again = messages.map((message) => toBinary(StreamResponseSchema, message));
  const againTexts = sizes.map((texts) => written(texts));
  // Compared at last: nothing that was answered before may have changed since.
  assert.deepEqual(again, plain);
  assert.deepEqual(againTexts, plainTexts);
});

test("writers that overlap, break off or are used again do not disturb each other", () => {
  shareWriteBuffer();
  const [one, other] = [new BinaryWriter(), new BinaryWriter()];
  one.tag(1, 2).string("one");
  other.tag(1, 2).string("other");
  const broken = { $typeName: StreamResponseSchema.typeName, payload: { case: "task", value: { $typeName: "a.B" } } };
  assert.throws(() => toBinary(StreamResponseSchema, broken as unknown as Message & { $typeName: "lf.a2a.v1.StreamResponse" } as never));
  const third = written([text(20)]);
  one.string(text(9000));
  other.string("more");
  assert.equal(Buffer.from(one.finish()).toString("latin1"), `\n\x03one\xa8F${text(9000)}`);
  assert.equal(Buffer.from(other.finish()).toString("latin1"), "\n\x05other\x04more");
  assert.deepEqual(written([text(20)], one), third);
  assert.deepEqual(written([text(20)], other), third);
  assert.deepEqual(written([text(9000)], other), written([text(9000)]));
});
