/** Headers that a wire cannot carry. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { Code } from "@connectrpc/connect";
import { type Bed, openBed } from "../bed.ts";
import { client, factsOf, sendOf, WAYS } from "./ways.ts";

suite("a header that cannot be sent", () => {
  let bed: Bed;
  before(async () => {
    bed = await openBed();
  });
  after(async () => {
    await bed[Symbol.asyncDispose]();
  });

  for (const way of WAYS) {
    const unfit: readonly (readonly [name: string, value: string])[] = [
      ["x-key", "s3cret ☃"],
      ["x-key", "s3cret\r\nx-other: 1"],
      ["x-key", "s3cret\u0000"],
      ["x key", "s3cret"],
      ...(way.name === "gRPC"
        ? ([
            ["x-key", "s3cret ä"],
            ["x!key", "s3cret"],
          ] as const)
        : []),
    ];

    test(`is named, and its value is not told, over ${way.name}`, async () => {
      for (const [name, value] of unfit) {
        using opened = client(way.open(bed.server.ports));
        const options = { headers: [[name, value]] as [string, string][] };
        for (const call of [opened.client.listTasks({}, options), opened.client.sendStreamingMessage(sendOf("complete"), options)]) {
          const { code, message, unreached } = await factsOf(call);
          assert.equal(code, Code.InvalidArgument, message);
          assert.ok(message.startsWith(`the header ${JSON.stringify(name)} `) && !message.includes("s3cret"), message);
          assert.equal(unreached, false);
        }
        const made = client(way.open(bed.server.ports, { headers: () => ({ "a2a-version": "1.0", [name]: value }) }));
        using _ = made;
        assert.equal((await factsOf(made.client.listTasks({}))).code, Code.InvalidArgument);
      }
    });
  }
});
