import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ManualClock, systemClock } from "../src/clock.js";
import { sign, verify, WebhookSender } from "../src/webhooks.js";

const now = 1_900_000_000_000;

describe("signature", () => {
  it("fits its body, secret and time", () => {
    verify('{"id":1}', sign('{"id":1}', ["s1"], now), "s1", { now });
  });

  it("fits nothing else", () => {
    const header = sign('{"id":1}', ["s1"], now);
    const later = header.replace(`t=${now}`, `t=${now + 1}`);
    assert.throws(() => verify('{"id":2}', header, "s1", { now }), { code: "bad_signature" });
    assert.throws(() => verify('{"id":1}', header, "s2", { now }), { code: "bad_signature" });
    assert.throws(() => verify('{"id":1}', later, "s1", { now }), { code: "bad_signature" });
  });

  it("is refused when it is too old, or from the future", () => {
    const header = sign("{}", ["s1"], now);
    verify("{}", header, "s1", { now: now + 300_000 });
    assert.throws(() => verify("{}", header, "s1", { now: now + 300_001 }), { code: "stale_signature" });
    assert.throws(() => verify("{}", header, "s1", { now: now - 300_001 }), { code: "stale_signature" });
  });

  it("works with both secrets while one replaces the other", () => {
    const header = sign("{}", ["old", "new"], now);
    verify("{}", header, "old", { now });
    verify("{}", header, "new", { now });
  });

  it("is refused when it is no signature", () => {
    for (const header of ["", "t=", "v1=00", `t=${now}`, `t=${now},v1=zz`, `t=${now},v1=00`]) {
      assert.throws(() => verify("{}", header, "s1", { now }), { code: "bad_signature" }, header);
    }
  });
});

describe("delivery", () => {
  it("keeps the order while the receiver is away", async () => {
    const taken = [];
    let away = 3;
    const post = async (body, headers) => {
      if (away-- > 0) return 503;
      verify(body, headers["webhook-signature"], "s1", { now: Date.now() });
      taken.push(JSON.parse(body).id);
      return 204;
    };
    const sender = new WebhookSender({ post, secrets: ["s1"], baseMs: 80 });
    await Promise.all([1, 2, 3].map((id) => sender.send({ id })));
    assert.deepEqual(taken, [1, 2, 3]);
  });

  it("goes on after an event it had to give up", async () => {
    const clock = new ManualClock(now);
    const post = async (body) => (body.includes('"bad"') ? 500 : 200);
    const sender = new WebhookSender({ post, secrets: ["s1"], clock });
    assert.deepEqual(await Promise.all(["bad", "good"].map((id) => sender.send({ id }))), [false, true]);
    assert.deepEqual(sender.givenUp, [{ id: "bad" }]);
    assert.deepEqual(clock.slept, [100, 200, 400]);
  });

  it("waits for a slow receiver before it sends the next", async () => {
    let open = 0;
    let most = 0;
    const post = async () => {
      most = Math.max(most, ++open);
      await systemClock.sleep(130);
      open -= 1;
      return 200;
    };
    const sender = new WebhookSender({ post, secrets: ["s1"] });
    await Promise.all([1, 2, 3, 4].map((id) => sender.send({ id })));
    assert.equal(most, 1);
  });
});
