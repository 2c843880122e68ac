import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { textChunks, type TextChunk } from "../../examples/test-runner/chunker.ts";

/** The bytes in pieces of the given lengths, and the rest. */
async function* pieces(bytes: Uint8Array, lengths: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (const length of lengths) {
    yield bytes.subarray(at, at + length);
    at += length;
  }
  yield bytes.subarray(at);
}

async function* broken(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("a");
  throw new Error("the pipe broke");
}

async function collect(chunks: AsyncIterable<TextChunk>): Promise<TextChunk[]> {
  const all: TextChunk[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return all;
}

const whole = (bytes: Uint8Array): string => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
const lengths = fc.array(fc.nat(9), { maxLength: 40 });
const maxBytes = fc.integer({ min: 1, max: 12 });

suite("chunks of text", { timeout: 60_000 }, () => {
  test("join to the text, however its bytes came, and no code point is cut", async () => {
    const text = fc.string({ unit: "binary", maxLength: 60 });
    const property = fc.asyncProperty(text, lengths, maxBytes, fc.boolean(), async (words, cuts, max, marked) => {
      const bytes = new TextEncoder().encode(marked ? `\uFEFF${words}` : words);
      const chunks = await collect(textChunks(pieces(bytes, cuts), { maxBytes: max, maxDelayMs: 60_000 }));
      assert.equal(chunks.map((chunk) => chunk.text).join(""), whole(bytes));
      for (const chunk of chunks) {
        assert.ok(chunk.text.isWellFormed());
        assert.ok(Buffer.byteLength(chunk.text) <= max + 3);
        assert.ok(chunk.last || chunk.text !== "");
      }
      assert.deepEqual(
        chunks.map(({ last }) => last),
        chunks.map((_, i) => i === chunks.length - 1),
      );
    });
    await fc.assert(property);
  });

  test("replace invalid bytes as a decoder of the whole would", async () => {
    const property = fc.asyncProperty(fc.uint8Array({ maxLength: 60 }), lengths, maxBytes, async (bytes, cuts, max) => {
      const chunks = await collect(textChunks(pieces(bytes, cuts), { maxBytes: max, maxDelayMs: 60_000 }));
      assert.equal(chunks.map((chunk) => chunk.text).join(""), whole(bytes));
    });
    await fc.assert(property);
  });

  test("come after their delay, without waiting for more", async () => {
    const more = Promise.withResolvers<void>();
    async function* slow(): AsyncGenerator<Uint8Array> {
      yield Buffer.from("a");
      yield Buffer.from([0xe2, 0x9c]);
      await more.promise;
      yield Buffer.from([0x94]);
    }
    const chunks = textChunks(slow(), { maxDelayMs: 20 });
    assert.deepEqual((await chunks.next()).value, { text: "a", last: false });
    more.resolve();
    assert.deepEqual(await collect(chunks), [{ text: "✔", last: true }]);
  });

  test("are made from one read ahead at most", async () => {
    let given = 0;
    async function* eager(): AsyncGenerator<Uint8Array> {
      for (;;) {
        given += 1;
        yield new Uint8Array(16);
      }
    }
    const chunks = textChunks(eager(), { maxBytes: 16 });
    for (let taken = 1; taken <= 5; taken++) {
      await chunks.next();
      assert.ok(given <= taken + 1, `${given} reads for ${taken} chunks`);
    }
    await chunks.return(undefined);
  });

  test("end with the error of the source", async () => {
    await assert.rejects(collect(textChunks(broken())), /the pipe broke/);
  });
});
