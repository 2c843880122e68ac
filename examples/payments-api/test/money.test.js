import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { add, allocate, compare, formatMoney, money, parseMoney, percentage, subtract } from "../src/money.js";

describe("amounts", () => {
  it("reads a decimal into minor units", () => {
    assert.deepEqual(parseMoney("19.99", "EUR"), money(1999, "EUR"));
  });

  it("pads a short fraction", () => {
    assert.equal(parseMoney("5.1", "USD").minor, 510);
  });

  it("knows currencies without a fraction and with three digits", () => {
    assert.equal(parseMoney("1500", "JPY").minor, 1500);
    assert.equal(parseMoney("1.234", "BHD").minor, 1234);
  });

  it("refuses more digits than the currency has", () => {
    assert.throws(() => parseMoney("1.999", "EUR"), { code: "invalid_amount" });
    assert.throws(() => parseMoney("1.5", "JPY"), { code: "invalid_amount" });
  });

  it("refuses what is no decimal", () => {
    for (const text of ["", ".5", "1.", "1e3", "0x10", " 1", "1,50", "NaN"]) {
      assert.throws(() => parseMoney(text, "EUR"), { code: "invalid_amount" }, text);
    }
  });

  it("refuses a fraction of a minor unit", () => {
    assert.throws(() => money(0.1, "EUR"), { code: "invalid_amount" });
    assert.throws(() => money(2 ** 53, "EUR"), { code: "invalid_amount" });
  });

  it("refuses a currency nobody trades, and names of Object.prototype", () => {
    assert.throws(() => money(1, "XXX"), { code: "unknown_currency" });
    assert.throws(() => money(1, "toString"), { code: "unknown_currency" });
  });

  it("writes what it reads", () => {
    for (const [text, currency] of [
      ["0.05", "EUR"],
      ["-12.30", "USD"],
      ["7", "JPY"],
      ["0.001", "BHD"],
      ["1234567.89", "GBP"],
    ]) {
      assert.equal(formatMoney(parseMoney(text, currency)), `${text} ${currency}`);
    }
  });
});

describe("arithmetic", () => {
  it("adds and subtracts without drifting", () => {
    let sum = money(0, "EUR");
    for (let i = 0; i < 1000; i++) sum = add(sum, parseMoney("0.10", "EUR"));
    assert.equal(formatMoney(subtract(sum, parseMoney("0.01", "EUR"))), "99.99 EUR");
  });

  it("does not mix currencies", () => {
    for (const mix of [add, subtract, compare]) {
      assert.throws(() => mix(money(1, "EUR"), money(1, "USD")), { code: "currency_mismatch" });
    }
  });

  it("rounds a half to the even neighbour", () => {
    assert.deepEqual(
      [50, 150, 250, 350].map((minor) => percentage(money(minor, "EUR"), 100).minor),
      [0, 2, 2, 4],
    );
  });

  it("rounds below zero as it does above", () => {
    for (const minor of [50, 149, 150, 151, 250, 999]) {
      const [above, below] = [minor, -minor].map((value) => percentage(money(value, "EUR"), 100).minor);
      assert.equal(above + below, 0, String(minor));
    }
  });

  it("splits without losing a cent", () => {
    const parts = allocate(money(1000, "EUR"), [1, 1, 1]);
    assert.deepEqual(
      parts.map(({ minor }) => minor),
      [334, 333, 333],
    );
  });

  it("gives nothing to a weight of zero, and refuses weights that cannot split", () => {
    assert.deepEqual(
      allocate(money(-5, "EUR"), [0, 1, 1]).map(({ minor }) => minor),
      [0, -3, -2],
    );
    assert.throws(() => allocate(money(5, "EUR"), [0, 0]), { code: "invalid_weights" });
    assert.throws(() => allocate(money(5, "EUR"), [2, -1]), { code: "invalid_weights" });
  });
});
