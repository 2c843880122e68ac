/** A wire may cut anywhere, within a character too. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { openBed } from "../bed.ts";
import type { Caller } from "../callers/caller.ts";
import { ConnectCaller } from "../callers/connect.ts";
import { GrpcCaller } from "../callers/grpc.ts";
import { GrpcWebCaller } from "../callers/grpc-web.ts";
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
    const callers: Readonly<Record<string, Caller>> = {
      gRPC: new GrpcCaller(grpc.port),
      "Connect in binary": new ConnectCaller(http.port),
      "Connect in JSON": new ConnectCaller(http.port, { codec: "json", http: 1 }),
      "gRPC-Web in binary": new GrpcWebCaller(http.port),
      "gRPC-Web in JSON": new GrpcWebCaller(http.port, { codec: "json", http: 2 }),
      "HTTP+JSON": new RestCaller(http.port),
      "JSON-RPC": new JsonRpcCaller(http.port),
    };
    using closing = new DisposableStack();
    for (const caller of Object.values(callers)) closing.defer(() => caller.close());
    for (const [name, caller] of Object.entries(callers)) {
      await t.test(name, async () => {
        assert.equal(await roundTrip({ caller, readers: [caller] }, said), 18);
      });
    }
  });
});
