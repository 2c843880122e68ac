import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { formatPosition, newMark, parsePosition, samePosition, START } from "../../src/core/log-entry.ts";
import { pageToken, parsePageToken } from "../../src/core/page-token.ts";
import { scopeKey } from "../../src/core/scope.ts";
import { uuidv7, uuidv8 } from "../../src/core/uuid.ts";

test("a UUIDv7 carries its millisecond, its version and its variant, and sorts by time", () => {
  fc.assert(
    fc.property(fc.nat({ max: 2 ** 31 }), fc.nat({ max: 2 ** 16 }), (low, high) => {
      const now = high * 2 ** 31 + low;
      const id = uuidv7(now);
      assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      assert.equal(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16), now);
      assert.ok(uuidv7(now + 1) > id);
    }),
  );
});

test("a UUIDv8 is made of its bytes, has its version and its variant, and is the same for the same bytes", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 32 }), (bytes) => {
      const id = uuidv8(bytes);
      assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      assert.equal(uuidv8(Uint8Array.from(bytes)), id);
    }),
  );
});

test("ids and marks do not repeat", () => {
  const ids = new Set(Array.from({ length: 5000 }, () => uuidv7(1_700_000_000_000)));
  assert.equal(ids.size, 5000);
  for (let count = 0; count < 5000; count += 1) assert.match(newMark(), /^[0-9a-f]{8}$/);
  assert.ok(new Set(Array.from({ length: 500 }, newMark)).size > 490);
});

test("a position is read back from its text; anything else is none", () => {
  fc.assert(
    fc.property(fc.nat({ max: 9_999_999_999 }), (offset) => {
      const position = { offset, mark: newMark() };
      assert.deepEqual(parsePosition(formatPosition(position)), position);
    }),
  );
  for (const text of ["", "1", "1.", ".0123abcd", "01.0123abcd", "-1.0123abcd", "1.0123ABCD", "1.0123abc", "1.0123abcd ", "1e3.0123abcd"]) {
    assert.equal(parsePosition(text), undefined, text);
  }
  assert.ok(samePosition(START, { offset: 0, mark: "" }));
  assert.ok(!samePosition({ offset: 1, mark: "a" }, { offset: 1, mark: "b" }));
});

test("a page token is read back for the list it was made for, and for no other", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.string(), fc.string(), (place, list, other) => {
      const token = pageToken(place, list);
      assert.match(token, /^[A-Za-z0-9_-]+$/);
      assert.equal(parsePageToken(token, list), place);
      if (other !== list) assert.equal(parsePageToken(token, other), undefined);
    }),
  );
});

test("what is no page token, or one that was changed, is none", () => {
  const token = pageToken(`1700000000000|${uuidv7(1_700_000_000_000)}`, "list");
  for (let index = 0; index < token.length; index += 1) {
    const changed = `${token.slice(0, index)}${token[index] === "A" ? "B" : "A"}${token.slice(index + 1)}`;
    const read = parsePageToken(changed, "list");
    // The last character may carry bits that no byte is made of.
    if (index < token.length - 1) assert.equal(read, undefined);
  }
  for (const text of ["", "x", "====", "1|2|3", "a".repeat(500), token.slice(1), `${token}A`])
    assert.equal(parsePageToken(text, "list"), undefined);
});

test("no two scopes share a key", () => {
  const names = fc.stringMatching(/^[a-c0-3:|]{0,5}$/);
  fc.assert(
    fc.property(names, names, names, names, (tenant, owner, tenant2, owner2) => {
      const same = tenant === tenant2 && owner === owner2;
      assert.equal(scopeKey({ tenant, owner }) === scopeKey({ tenant: tenant2, owner: owner2 }), same);
    }),
    { numRuns: 2000 },
  );
});
