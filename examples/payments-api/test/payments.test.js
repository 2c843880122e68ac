import assert from "node:assert/strict";
import { once } from "node:events";
import { afterEach, beforeEach, describe, it } from "node:test";
import { ManualClock, systemClock } from "../src/clock.js";
import { PaymentError } from "../src/errors.js";
import { Ledger } from "../src/ledger.js";
import { money } from "../src/money.js";
import { Payments } from "../src/payments.js";
import { TemporaryError } from "../src/retry.js";

const eur = (minor) => money(minor, "EUR");
const card = { number: "4242424242424242", expMonth: 12, expYear: 2099, cvc: "123" };
let ledger;
let payments;

function open(options = {}) {
  ledger = new Ledger();
  const gateway = { authorize: () => systemClock.sleep(110).then(() => "ref") };
  payments = new Payments({ ledger, gateway, holdMs: 60_000, feeBasisPoints: 250, ...options });
}

beforeEach(() => open());
afterEach(() => payments.close());

describe("hold", () => {
  it("is placed on a card that is kept without its number", async () => {
    const payment = await payments.authorize({ card, amount: eur(1000) });
    assert.equal(payment.state, "held");
    assert.equal(payment.card.masked, "424242******4242");
    assert.equal(ledger.balance("merchant", "EUR").minor, 0);
  });

  it("is refused for nothing and less", async () => {
    for (const minor of [0, -1]) await assert.rejects(payments.authorize({ card, amount: eur(minor) }), { code: "invalid_amount" });
  });

  it("expires by itself", async () => {
    open({ holdMs: 320 });
    const { id } = await payments.authorize({ card, amount: eur(1000) });
    const [changed] = await once(payments, "changed");
    assert.equal(changed.id, id);
    assert.equal(payments.get(id).state, "expired");
  });

  it("cannot be captured after it expired", async () => {
    open({ holdMs: 260 });
    const { id } = await payments.authorize({ card, amount: eur(1000) });
    await once(payments, "changed");
    assert.throws(() => payments.capture(id), { code: "wrong_state", status: 409 });
    assert.equal(ledger.trialBalance("EUR").minor, 0);
  });

  it("does not expire once it was captured", async () => {
    open({ holdMs: 200 });
    const { id } = await payments.authorize({ card, amount: eur(1000) });
    payments.capture(id);
    await systemClock.sleep(290);
    assert.equal(payments.get(id).state, "captured");
  });

  it("does not expire once it was let go", async () => {
    open({ holdMs: 150 });
    const { id } = await payments.authorize({ card, amount: eur(1000) });
    payments.void(id);
    await systemClock.sleep(220);
    assert.equal(payments.get(id).state, "voided");
  });

  it("expires to the millisecond", async () => {
    const clock = new ManualClock();
    open({ clock });
    const { id } = await payments.authorize({ card, amount: eur(1000) });
    clock.advance(59_999);
    assert.equal(payments.get(id).state, "held");
    clock.advance(1);
    assert.equal(payments.get(id).state, "expired");
  });

  it("is tried again when the gateway is away for a moment", async () => {
    let calls = 0;
    const authorize = async () => {
      calls += 1;
      if (calls < 3) throw new TemporaryError("gateway away");
      return "ref-3";
    };
    open({ gateway: { authorize }, retries: { baseMs: 120 } });
    const payment = await payments.authorize({ card, amount: eur(1000) });
    assert.equal(payment.reference, "ref-3");
  });

  it("is not tried again when the bank declined", async () => {
    let calls = 0;
    const authorize = async () => {
      calls += 1;
      throw new PaymentError("declined", "insufficient funds", 402);
    };
    open({ gateway: { authorize } });
    await assert.rejects(payments.authorize({ card, amount: eur(1000) }), { code: "declined" });
    assert.equal(calls, 1);
  });
});

describe("capture and refund", () => {
  it("book the amount less the fee", async () => {
    const { id } = await payments.authorize({ card, amount: eur(1000) });
    payments.capture(id);
    assert.equal(ledger.balance("merchant", "EUR").minor, 975);
    assert.equal(ledger.balance("fees", "EUR").minor, 25);
  });

  it("take a part and let the rest go", async () => {
    const { id } = await payments.authorize({ card, amount: eur(1000) });
    assert.throws(() => payments.capture(id, eur(1001)), { code: "invalid_amount" });
    assert.equal(payments.capture(id, eur(400)).captured.minor, 400);
    assert.throws(() => payments.capture(id, eur(600)), { code: "wrong_state" });
  });

  it("give back in parts, never more than was taken", async () => {
    const { id } = await payments.authorize({ card, amount: eur(1000) });
    payments.capture(id);
    assert.equal(payments.refund(id, eur(300)).state, "captured");
    assert.throws(() => payments.refund(id, eur(701)), { code: "invalid_amount" });
    assert.equal(payments.refund(id).state, "refunded");
    assert.equal(ledger.balance("card-network", "EUR").minor, 0);
  });

  it("do not mix currencies", async () => {
    const { id } = await payments.authorize({ card, amount: eur(1000) });
    assert.throws(() => payments.capture(id, money(1000, "USD")), { code: "currency_mismatch" });
    assert.equal(payments.get(id).state, "held");
  });

  it("need a payment in the right state", async () => {
    const { id } = await payments.authorize({ card, amount: eur(1000) });
    assert.throws(() => payments.refund(id), { code: "wrong_state" });
    payments.void(id);
    assert.throws(() => payments.capture(id), { code: "wrong_state" });
    assert.throws(() => payments.get("pay_9"), { code: "unknown_payment", status: 404 });
  });
});
