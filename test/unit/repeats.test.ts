import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { create, toJson } from "@bufbuild/protobuf";
import canonicalize from "canonicalize";
import * as fc from "fast-check";
import { type Message, MessageSchema, Role } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type Scope, scopeKey } from "../../src/core/scope.ts";
import { repeatDigest } from "../../src/service/repeats.ts";
import { arbitraryMessage } from "./message-arbitrary.ts";

const SCOPE: Scope = { tenant: "", owner: "anonymous" };

/** What every release has stored, and looks for. */
function expected(scope: Scope, message: Message): string {
  const hash = createHash("sha256");
  const content = canonicalize(toJson(MessageSchema, message)) ?? "";
  for (const part of [scopeKey(scope), message.messageId, content]) hash.update(`${part.length}:`).update(part);
  return hash.digest("base64url");
}

const word = fc.string({ unit: "grapheme", maxLength: 6 });

/** As most messages are: texts, ids, and little else. */
const texts = fc
  .record({
    contextId: word,
    extensions: fc.array(word, { maxLength: 2 }),
    messageId: word,
    parts: fc.array(
      fc.record({ content: fc.record({ case: fc.constant("text" as const), value: word }), filename: fc.constantFrom("", "a") }),
    ),
    referenceTaskIds: fc.array(word, { maxLength: 2 }),
    role: fc.constantFrom(Role.UNSPECIFIED, Role.USER, Role.AGENT),
    taskId: word,
  })
  .map((init) => create(MessageSchema, init));

test("the digest of a repeated send is that of its scope, its messageId and its canonical ProtoJSON, whatever the message holds", () => {
  fc.assert(fc.property(texts, (message) => assert.equal(repeatDigest(SCOPE, message), expected(SCOPE, message))));
  const any = arbitraryMessage(MessageSchema).filter((message) => JSON.stringify(toJson(MessageSchema, message)).isWellFormed());
  fc.assert(
    fc.property(any, word, (message, owner) => {
      const scope = { tenant: "t", owner };
      assert.equal(repeatDigest(scope, message), expected(scope, message));
    }),
  );
});
