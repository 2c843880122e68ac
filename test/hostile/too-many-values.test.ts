import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { DescMethod } from "@bufbuild/protobuf";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { assertOutcome, assertServes, sharedHostileBed } from "./bed.ts";
import { record, tag, varint } from "./wire.ts";

const SEND = A2AService.methods.find(({ name }) => name === "SendMessage") as DescMethod;
const MiB = 1024 * 1024;
/** A quarter of what a request may have: what costs most here is worth least on the wire. */
const MOST = 4 * MiB;

const many = (item: string): string => `${item},`.repeat(MOST / (item.length + 1));
const said = (members: string): string => `{"messageId":"m","role":"ROLE_USER",${members}}`;
const repeat = (item: Uint8Array): Buffer => Buffer.alloc(MOST - (MOST % item.length), item);

/** Each would take seconds, and more memory than a replica has, if it were read before it is judged. */
suite("R-370 a request of 4 MiB that holds millions of values is refused before they are read", () => {
  const bed = sharedHostileBed();

  const json: Readonly<Record<string, string>> = {
    "empty parts": said(`"parts":[${many("{}")}{}]`),
    "numbers in data": said(`"parts":[{"data":[${many("0")}0]}]`),
    "arrays in data": said(`"parts":[{"data":[${many("[]")}[]]}]`),
    "objects in metadata": said(`"parts":[{"text":"x"}],"metadata":{"k":[${many("{}")}{}]}`),
    "texts with commas around them": said(`"parts":[{"text":"x"}],"extensions":[${many('"\\",["')}""]`),
    "unknown members": `{"x":[${many("{}")}{}]}`,
  };
  for (const [name, text] of Object.entries(json)) {
    test(`in JSON: ${name}`, async () => {
      for (const surface of bed().json) {
        const answer = await surface.send(SEND, { params: [], body: [["message", text]] });
        assertOutcome(answer, { reason: "MESSAGE_TOO_LARGE", fields: [] }, surface);
        await assertServes(surface);
      }
    });
  }

  const list = (items: Buffer): Buffer => record(6, items);
  const nothing = Buffer.from("0a020800", "hex");
  const binary: Readonly<Record<string, Buffer>> = {
    "empty parts": record(2, repeat(Buffer.of(0x2a, 0))),
    "unknown numbers": repeat(Buffer.concat([tag(15, 0), varint(0)])),
    "unknown groups": repeat(Buffer.concat([tag(14, 3), tag(14, 4)])),
    "nulls in data": record(2, record(5, record(4, list(repeat(nothing))))),
    "nulls in metadata": record(4, record(1, Buffer.concat([record(1, Buffer.from("k")), record(2, list(repeat(nothing)))]))),
    "members of metadata without a name": record(4, repeat(Buffer.from("0a0412020800", "hex"))),
    "kinds of one value": record(2, record(5, record(4, repeat(Buffer.of(0x2a, 0))))),
    "texts without a letter": record(2, repeat(Buffer.of(0x42, 0))),
  };
  for (const [name, bytes] of Object.entries(binary)) {
    test(`in binary: ${name}`, async () => {
      for (const surface of bed().binary) {
        assertOutcome(await surface.send(SEND, bytes), { reason: "MESSAGE_TOO_LARGE", fields: [] }, surface);
        await assertServes(surface);
      }
    });
  }

  test("a batch of a million requests is refused at once, whatever their ids", async () => {
    const { jsonRpc } = bed();
    const body = `[${'{"id":1.5},'.repeat(45_000)}{}]`;
    const { text } = await jsonRpc.http.fetch({ method: "POST", target: "/jsonrpc", headers: [["a2a-version", "1.0"]], body });
    assert.match(text, /"id":null,"error":\{"code":-32600/);
    await assertServes(jsonRpc);
  });

  test("one with nearly a hundred thousand is taken, and a long text of commas and brackets is one value", async () => {
    const numbers = `[${"0,".repeat(99_000)}0]`;
    const text = JSON.stringify('[{,}]\\"'.repeat(MiB / 8));
    for (const surface of bed().json) {
      const answer = await surface.send(SEND, {
        params: [],
        body: [
          ["message", said(`"parts":[{"data":${numbers}},{"text":${text}}]`)],
          ["configuration", '{"historyLength":0}'],
        ],
      });
      assertOutcome(answer, "ok", surface);
    }
  });
});
