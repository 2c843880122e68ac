/** A wire may cut anywhere, within a character too. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { openBed } from "../bed.ts";
import type { Caller } from "../callers/caller.ts";
import { GrpcCaller } from "../callers/grpc.ts";
import { JsonRpcCaller } from "../callers/json-rpc.ts";
import { RestCaller } from "../callers/rest.ts";
import { Echo, roundTrip } from "../echo.ts";
import { Piecemeal } from "../piecemeal.ts";

/** Characters of one to four bytes, the byte order mark, and bytes that are none of them. */
const TEXT = "aé€\uFEFF💥\u{10FFFF}\u2028e\u0301";
const said = {
  parts: [{ text: TEXT }, { data: { [TEXT]: TEXT } }, { raw: Buffer.from([0xf0, 0x9f, 0x92, 0xa5, 0xff, 0x80, 0]).toString("base64") }],
  metadata: { [TEXT]: [TEXT] },
};

suite("a wire that carries one byte at a time", { timeout: 120_000 }, () => {
  test("R-276 gives everybody what was said: messages, artifacts, events, lists", async (t) => {
    await using bed = await openBed({}, new Echo());
    await using grpc = await Piecemeal.before(bed.server.ports.grpc);
    await using http = await Piecemeal.before(bed.server.ports.http);
    const callers: readonly Caller[] = [new GrpcCaller(grpc.port), new RestCaller(http.port), new JsonRpcCaller(http.port)];
    for (const caller of callers) {
      await t.test(caller.binding, async () => {
        assert.equal(await roundTrip({ caller, callers: [caller] }, said), 18);
      });
    }
    for (const caller of callers) caller.close();
  });
});
