import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import type { IncomingMessage } from "node:http";
import { suite, test } from "node:test";
import { eventData } from "../callers/http.ts";

interface Vector {
  readonly id: string;
  readonly title: string;
  readonly input?: string;
  readonly inputBase64?: string;
  /** How a long input is made. */
  readonly inputRecipe?: string;
  readonly chunking?: string;
  readonly chunkSizes?: readonly number[];
  readonly events: readonly { readonly data: string }[];
}

const { vectors } = JSON.parse(readFileSync(new URL("../../vectors/sse.json", import.meta.url), "utf8")) as { vectors: Vector[] };

const RECIPES: Readonly<Record<string, string>> = { "comment-long": `:${"x".repeat(70_000)}\ndata: a\n\n` };

function chunksOf({ id, input = RECIPES[id], inputBase64, chunking, chunkSizes = [] }: Vector): Buffer[] {
  assert.ok(input !== undefined || inputBase64 !== undefined, "an input, or the recipe of one");
  const body = inputBase64 === undefined ? Buffer.from(input ?? "") : Buffer.from(inputBase64, "base64");
  const sizes = chunking === undefined ? chunkSizes : Array.from(body, () => 1);
  const chunks: Buffer[] = [];
  let at = 0;
  for (const size of sizes) chunks.push(body.subarray(at, (at += size)));
  chunks.push(body.subarray(at));
  return chunks.filter(({ length }) => length > 0);
}

async function read(chunks: readonly Buffer[]): Promise<string[]> {
  const seen: string[] = [];
  for await (const data of eventData(Readable.from(chunks, { objectMode: false }) as IncomingMessage)) seen.push(data);
  return seen;
}

suite("the callers' reader of server-sent events", () => {
  for (const vector of vectors) {
    test(`${vector.id}: ${vector.title}`, async () => {
      assert.deepEqual(
        await read(chunksOf(vector)),
        vector.events.map(({ data }) => data),
      );
    });
  }

  test("does not wait for what may follow a lone CR", async () => {
    assert.deepEqual(await read([Buffer.from("data: a\r\r")]), ["a"]);
    assert.deepEqual(await read([Buffer.from("data: a\r"), Buffer.from("\r")]), ["a"]);
    assert.deepEqual(await read([Buffer.from("data: a\r\r"), Buffer.from("\ndata: b\n\n")]), ["a", "b"]);
  });
});
