import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cardBrand, checkDigit, luhn, maskCard, validateCard } from "../src/cards.js";

const now = Date.UTC(2030, 5, 15);
const visa = { number: "4242 4242 4242 4242", expMonth: 6, expYear: 2030, cvc: "123" };

describe("check digit", () => {
  it("accepts the test numbers of the networks", () => {
    for (const number of ["4242424242424242", "5555555555554444", "378282246310005"]) assert.ok(luhn(number), number);
  });

  it("notices every single mistyped digit", () => {
    const number = "4242424242424242";
    for (let at = 0; at < number.length; at++) {
      for (const digit of "0123456789") {
        if (digit === number[at]) continue;
        assert.ok(!luhn(number.slice(0, at) + digit + number.slice(at + 1)), `${digit} at ${at}`);
      }
    }
  });

  it("notices two neighbours that changed places", () => {
    assert.ok(luhn("5555555555554444"));
    assert.ok(!luhn("5555555555545444"));
  });

  it("finds the digit for any beginning", () => {
    for (let i = 0; i < 200; i++) {
      const beginning = `4${String(i * 7919).padStart(14, "0")}`;
      assert.ok(luhn(beginning + checkDigit(beginning)));
    }
  });

  it("takes digits only", () => {
    for (const text of ["", "4242-4242", "४२४२", "42 42"]) assert.ok(!luhn(text), text);
  });
});

describe("card", () => {
  it("is told by its first digits", () => {
    assert.equal(cardBrand("4000 0000"), "visa");
    assert.equal(cardBrand("2221-0000"), "mastercard");
    assert.equal(cardBrand("5105"), "mastercard");
    assert.equal(cardBrand("371"), "amex");
    assert.equal(cardBrand("9999"), undefined);
  });

  it("is kept without the digits in the middle", () => {
    assert.equal(maskCard("4242 4242 4242 4242"), "424242******4242");
    const kept = JSON.stringify(validateCard(visa, now));
    assert.ok(!kept.includes("42424242424"), kept);
  });

  it("may be typed with spaces and dashes", () => {
    assert.equal(validateCard({ ...visa, number: "4242-4242 4242-4242" }, now).brand, "visa");
  });

  it("is good until its month is over", () => {
    assert.equal(validateCard(visa, Date.UTC(2030, 6, 1) - 1).expMonth, 6);
    assert.throws(() => validateCard(visa, Date.UTC(2030, 6, 1)), { code: "expired_card" });
  });

  it("of December is good until the new year", () => {
    const card = { ...visa, expMonth: 12 };
    assert.equal(validateCard(card, Date.UTC(2031, 0, 1) - 1).expYear, 2030);
    assert.throws(() => validateCard(card, Date.UTC(2031, 0, 1)), { code: "expired_card" });
  });

  it("has as many digits and as long a CVC as its brand", () => {
    assert.throws(() => validateCard({ ...visa, number: "42424242424242" }, now), { code: "invalid_number" });
    assert.throws(() => validateCard({ ...visa, cvc: "1234" }, now), { code: "invalid_cvc" });
    assert.equal(validateCard({ ...visa, number: "378282246310005", cvc: "1234" }, now).brand, "amex");
  });

  it("needs a month that exists and a known brand", () => {
    for (const expMonth of [0, 13, 1.5, "6"]) assert.throws(() => validateCard({ ...visa, expMonth }, now), { code: "invalid_expiry" });
    assert.throws(() => validateCard({ ...visa, number: undefined }, now), { code: "unknown_brand" });
  });
});
