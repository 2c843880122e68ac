import assert from "node:assert/strict";
import { test } from "node:test";
import { shownAddress } from "../../src/cli/upstream-flags.ts";

for (const [address, shown] of [
  ["http://bob:s3cret@127.0.0.1:8080/card", "http://127.0.0.1:8080/card"],
  ["https://s3cret@agent.example", "https://agent.example/"],
  ["https://agent.example", "https://agent.example"],
  ["127.0.0.1:9999", "127.0.0.1:9999"],
  ["agent:9999", "agent:9999"],
] as const)
  test(`the address of an upstream is shown without credentials: ${shown}`, () => assert.equal(shownAddress(address), shown));
