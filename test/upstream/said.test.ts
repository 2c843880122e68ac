/** What a front remembers of what its upstream has said. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { MessageSchema, type PartSchema, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { Said } from "../../src/upstream/said.ts";

const NOTHING = create(TaskSchema);
const message = (init: MessageInitShape<typeof MessageSchema>): ReturnType<typeof create<typeof MessageSchema>> =>
  create(MessageSchema, init);
const text = (value: string): MessageInitShape<typeof PartSchema>[] => [{ content: { case: "text", value } }];

suite("what was said", () => {
  test("is told by its id and its parts, and without an id by its parts", () => {
    const said = new Said(NOTHING);
    said.add(message({ messageId: "m", parts: text("one") }));
    assert.ok(said.has(message({ messageId: "m", parts: [...text("one"), {}] })), "a part without content says nothing");
    assert.ok(said.has(message({ parts: text("one") })));
    for (const other of [{ messageId: "m", parts: text("two") }, { messageId: "n", parts: text("one") }, { parts: text("two") }])
      assert.ok(!said.has(message(other)));
  });

  test("is the same in whatever order members of JSON come", () => {
    const said = new Said(NOTHING);
    said.add(message({ messageId: "m", parts: [{ content: { case: "text", value: "x" }, metadata: { a: 1, b: { c: 2, d: 3 } } }] }));
    assert.ok(
      said.has(message({ messageId: "m", parts: [{ content: { case: "text", value: "x" }, metadata: { b: { d: 3, c: 2 }, a: 1 } }] })),
    );
    assert.ok(!said.has(message({ messageId: "m", parts: [{ content: { case: "text", value: "x" }, metadata: { a: 1, b: { c: 2 } } }] })));
  });

  test("is remembered up to a number of messages, the latest ones", () => {
    const said = new Said(NOTHING, 3);
    for (const id of ["a", "b", "c", "a", "d"]) said.add(message({ messageId: id, parts: text("the same") }));
    assert.deepEqual(
      ["a", "b", "c", "d"].map((messageId) => said.has(message({ messageId, parts: text("the same") }))),
      [true, false, true, true],
    );
    assert.ok(said.has(message({ parts: text("the same") })), "three messages have these parts");
    for (const id of ["e", "f", "g"]) said.add(message({ messageId: id, parts: text("other") }));
    assert.ok(!said.has(message({ parts: text("the same") })));
  });
});
