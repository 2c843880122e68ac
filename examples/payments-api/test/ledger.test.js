import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { Ledger } from "../src/ledger.js";
import { money } from "../src/money.js";

const eur = (minor) => money(minor, "EUR");
let ledger;
beforeEach(() => {
  ledger = new Ledger();
});

describe("booking", () => {
  it("moves an amount from one account to another", () => {
    ledger.transfer("t1", "customer", "merchant", eur(500));
    assert.equal(ledger.balance("customer", "EUR").minor, -500);
    assert.equal(ledger.balance("merchant", "EUR").minor, 500);
  });

  it("refuses lines that do not sum to zero", () => {
    const lines = [
      { account: "a", amount: eur(100) },
      { account: "b", amount: eur(-99) },
    ];
    assert.throws(() => ledger.post("t1", lines), { code: "unbalanced" });
  });

  it("balances each currency on its own", () => {
    const lines = [
      { account: "a", amount: eur(100) },
      { account: "b", amount: money(-100, "USD") },
    ];
    assert.throws(() => ledger.post("t1", lines), { code: "unbalanced" });
  });

  it("leaves nothing behind of a refused transaction", () => {
    assert.throws(() => ledger.post("t1", [{ account: "a", amount: eur(1) }]), { code: "unbalanced" });
    assert.equal(ledger.balance("a", "EUR").minor, 0);
    assert.equal(ledger.transfer("t1", "a", "b", eur(1)).id, "t1");
  });

  it("books an id once", () => {
    ledger.transfer("t1", "a", "b", eur(1));
    assert.throws(() => ledger.transfer("t1", "a", "b", eur(1)), { code: "duplicate_transaction", status: 409 });
    assert.equal(ledger.balance("b", "EUR").minor, 1);
  });

  it("cannot be changed afterwards", () => {
    const transaction = ledger.transfer("t1", "a", "b", eur(1));
    assert.throws(() => transaction.lines.push({}), TypeError);
    assert.throws(() => Object.assign(transaction.lines[0], { account: "c" }), TypeError);
  });
});

describe("books", () => {
  it("reverse a transaction once, and keep both", () => {
    ledger.transfer("t1", "a", "b", eur(250));
    ledger.reverse("t1");
    assert.equal(ledger.balance("b", "EUR").minor, 0);
    assert.equal(ledger.statement("b", "EUR").length, 2);
    assert.throws(() => ledger.reverse("t1"), { code: "duplicate_transaction" });
  });

  it("cannot reverse what was never booked", () => {
    assert.throws(() => ledger.reverse("t9"), { code: "unknown_transaction", status: 404 });
  });

  it("list an account with the balance after each line", () => {
    ledger.transfer("t1", "a", "b", eur(300));
    ledger.transfer("t2", "b", "c", eur(120));
    ledger.transfer("t3", "a", "c", eur(50));
    assert.deepEqual(
      ledger.statement("b", "EUR").map(({ id, balance }) => [id, balance.minor]),
      [
        ["t1", 300],
        ["t2", 180],
      ],
    );
  });

  it("sum to zero after a thousand transactions", () => {
    for (let i = 0; i < 1000; i++)
      ledger.transfer(`t${i}`, `account-${i % 7}`, `account-${(i * 3) % 11}`, money(1 + ((i * 37) % 500), "USD"));
    assert.equal(ledger.trialBalance("USD").minor, 0);
  });
});
