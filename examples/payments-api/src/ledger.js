/** A double-entry ledger: every transaction sums to zero in each currency, and nothing is ever changed or removed. */
import { PaymentError } from "./errors.js";
import { money } from "./money.js";

export class Ledger {
  #transactions = [];
  #balances = new Map();
  #ids = new Map();

  /** Books lines `{ account, amount }` (debit above zero, credit below). All of them or none. */
  post(id, lines, note = "") {
    if (this.#ids.has(id)) throw new PaymentError("duplicate_transaction", `${id} is booked already`, 409);
    if (lines.length < 2) throw new PaymentError("unbalanced", "a transaction has at least two lines");
    const sums = new Map();
    for (const { amount } of lines) sums.set(amount.currency, (sums.get(amount.currency) ?? 0) + amount.minor);
    for (const [currency, sum] of sums) {
      if (sum !== 0) throw new PaymentError("unbalanced", `${currency} is off by ${sum}`);
    }
    for (const { account, amount } of lines) {
      const key = `${account} ${amount.currency}`;
      this.#balances.set(key, (this.#balances.get(key) ?? 0) + amount.minor);
    }
    const transaction = Object.freeze({ id, lines: Object.freeze(lines.map((line) => Object.freeze({ ...line }))), note });
    this.#transactions.push(transaction);
    this.#ids.set(id, transaction);
    return transaction;
  }

  /** Moves an amount from one account to another. */
  transfer(id, from, to, amount, note) {
    if (amount.minor <= 0) throw new PaymentError("invalid_amount", "a transfer moves a positive amount");
    const lines = [
      { account: from, amount: money(-amount.minor, amount.currency) },
      { account: to, amount },
    ];
    return this.post(id, lines, note);
  }

  /** Books the opposite of a transaction, once. */
  reverse(id) {
    const original = this.#ids.get(id);
    if (!original) throw new PaymentError("unknown_transaction", `${id} was never booked`, 404);
    const lines = original.lines.map(({ account, amount }) => ({ account, amount: money(-amount.minor, amount.currency) }));
    return this.post(`${id}:reversed`, lines, `reverses ${id}`);
  }

  balance(account, currency) {
    return money(this.#balances.get(`${account} ${currency}`) ?? 0, currency);
  }

  /** The lines of an account, oldest first, each with the balance after it. */
  statement(account, currency) {
    let balance = 0;
    const rows = [];
    for (const { id, lines } of this.#transactions) {
      for (const line of lines) {
        if (line.account !== account || line.amount.currency !== currency) continue;
        balance += line.amount.minor;
        rows.push({ id, amount: line.amount, balance: money(balance, currency) });
      }
    }
    return rows;
  }

  /** The sum over all accounts: zero, or the ledger is broken. */
  trialBalance(currency) {
    let sum = 0;
    for (const [key, minor] of this.#balances) if (key.endsWith(` ${currency}`)) sum += minor;
    return money(sum, currency);
  }
}
