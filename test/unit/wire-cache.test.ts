import assert from "node:assert/strict";
import { test } from "node:test";
import { create, equals, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type StreamResponse, StreamResponseSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { framed } from "../../src/bindings/envelope.ts";
import { eventIdOf, formsOf, share, sharedForm, wireBytes, wireJson } from "../../src/rpc/wire-cache.ts";

function event(): StreamResponse {
  return create(StreamResponseSchema, {
    payload: { case: "statusUpdate", value: { taskId: "t", contextId: "c", status: { state: TaskState.WORKING } } },
  });
}

test("a shared message is encoded once, in every form; stored bytes go out as they are", () => {
  const shared = share(event());
  assert.equal(wireBytes(StreamResponseSchema, shared), wireBytes(StreamResponseSchema, shared));
  assert.equal(framed(StreamResponseSchema, shared), framed(StreamResponseSchema, shared));
  assert.equal(framed(StreamResponseSchema, shared, "json"), framed(StreamResponseSchema, shared, "json"));
  assert.deepEqual(framed(StreamResponseSchema, shared).subarray(5), Buffer.from(wireBytes(StreamResponseSchema, shared)));
  assert.equal(framed(StreamResponseSchema, shared, "json").subarray(5).toString(), wireJson(StreamResponseSchema, shared));
  const stored = Uint8Array.of(1, 2, 3);
  assert.equal(wireBytes(StreamResponseSchema, share(event(), stored)), stored);
});

test("a message that is shared again keeps what was made of it, and takes the stored bytes that it lacked", () => {
  const stored = toBinary(StreamResponseSchema, event());
  const shared = share(event(), undefined, "t/1");
  assert.equal(share(shared, stored, "t/2"), shared);
  assert.equal(wireBytes(StreamResponseSchema, shared), stored);
  assert.equal(eventIdOf(shared), "t/1");
  let made = 0;
  const form = (): StreamResponse => {
    made += 1;
    return event();
  };
  assert.equal(sharedForm(shared, "plain", form), sharedForm(shared, "plain", form));
  assert.notEqual(sharedForm(shared, "plain", form), sharedForm(shared, "positioned", form));
  assert.equal(made, 2);
});

test("what was made of a message is seen by nobody else, and is no part of a copy of it; frozen ones are shared too", () => {
  const shared = share(event(), undefined, "t/1");
  assert.deepEqual(Reflect.ownKeys(shared), Reflect.ownKeys(event()));
  assert.deepEqual(shared, event());
  assert.ok(equals(StreamResponseSchema, shared, event()));
  assert.equal(formsOf({ ...shared }), undefined);
  assert.equal(formsOf(structuredClone(shared)), undefined);
  assert.equal(formsOf(fromBinary(StreamResponseSchema, wireBytes(StreamResponseSchema, shared))), undefined);
  assert.equal(eventIdOf(share(Object.freeze(event()), undefined, "t/3")), "t/3");
});
