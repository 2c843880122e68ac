/** How far a webhook is, as its header says it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pushDeliveryOf } from "../../src/client/push-delivery.ts";

test("the header of a webhook is read whatever its cause says, and is nothing where it is not there", () => {
  const header = 'state=parked, acknowledged=7, failures=12, retry-in=4, cause="it said \\"no, state=done\\""';
  const parked = { state: "parked", acknowledged: 7, failures: 12, retryInSeconds: 4, cause: 'it said "no, state=done"' };
  assert.deepEqual(pushDeliveryOf(header), parked);
  const active = { state: "active", acknowledged: 0, failures: 0, retryInSeconds: 0, cause: "" };
  assert.deepEqual(pushDeliveryOf("state=active, acknowledged=0, failures=0"), active);
  for (const none of [null, undefined, "", "x=1"]) assert.equal(pushDeliveryOf(none), undefined);
});
