/** Payments: a hold on the card, captured in whole or in part, voided, expired, refunded. */
import { EventEmitter } from "node:events";
import { validateCard } from "./cards.js";
import { systemClock } from "./clock.js";
import { PaymentError } from "./errors.js";
import { add, compare, formatMoney, money, percentage, subtract } from "./money.js";
import { retry } from "./retry.js";

/** Emits `changed` with the payment after every change of its state. */
export class Payments extends EventEmitter {
  #payments = new Map();
  #options;

  /**
   * `gateway.authorize(card, amount)` answers the gateway's reference or throws. A hold that nobody captures within
   * `holdMs` expires. `feeBasisPoints` of what is captured goes to the fee account.
   */
  constructor({ ledger, gateway, holdMs, feeBasisPoints = 0, clock = systemClock, retries = {} }) {
    super();
    this.#options = { ledger, gateway, holdMs, feeBasisPoints, clock, retries };
  }

  async authorize({ card, amount }) {
    const { gateway, holdMs, clock, retries } = this.#options;
    if (amount.minor <= 0) throw new PaymentError("invalid_amount", "a payment is more than nothing");
    const kept = validateCard(card, clock.now());
    const reference = await retry(() => gateway.authorize(card, amount), { clock, ...retries });
    const zero = money(0, amount.currency);
    const id = `pay_${this.#payments.size + 1}`;
    const payment = { id, reference, card: kept, amount, state: "held", captured: zero, refunded: zero, refunds: 0 };
    payment.stopExpiry = clock.after(holdMs, () => this.#change(payment, "expired"));
    this.#payments.set(id, payment);
    return this.#change(payment, "held");
  }

  /** Takes the held amount, or less: the rest of the hold is let go. */
  capture(id, amount) {
    const { ledger, feeBasisPoints } = this.#options;
    const payment = this.#find(id, ["held"]);
    const taken = amount ?? payment.amount;
    if (taken.minor <= 0 || compare(taken, payment.amount) > 0) {
      throw new PaymentError("invalid_amount", `between nothing and ${formatMoney(payment.amount)} can be captured`);
    }
    const fee = percentage(taken, feeBasisPoints);
    const lines = [
      { account: "card-network", amount: money(-taken.minor, taken.currency) },
      { account: "merchant", amount: subtract(taken, fee) },
      { account: "fees", amount: fee },
    ];
    ledger.post(`${id}:capture`, lines);
    payment.stopExpiry();
    payment.captured = taken;
    return this.#change(payment, "captured");
  }

  /** Lets a hold go. */
  void(id) {
    const payment = this.#find(id, ["held"]);
    payment.stopExpiry();
    return this.#change(payment, "voided");
  }

  /** Gives back what was captured, in one or several parts; the fee stays. */
  refund(id, amount) {
    const payment = this.#find(id, ["captured"]);
    const left = subtract(payment.captured, payment.refunded);
    const given = amount ?? left;
    if (given.minor <= 0 || compare(given, left) > 0) {
      throw new PaymentError("invalid_amount", `between nothing and ${formatMoney(left)} can be refunded`);
    }
    payment.refunds += 1;
    this.#options.ledger.transfer(`${id}:refund-${payment.refunds}`, "merchant", "card-network", given);
    payment.refunded = add(payment.refunded, given);
    return this.#change(payment, compare(payment.refunded, payment.captured) === 0 ? "refunded" : "captured");
  }

  get(id) {
    return this.#view(this.#find(id));
  }

  /** Calls all timers off. */
  close() {
    for (const payment of this.#payments.values()) payment.stopExpiry();
  }

  #find(id, states) {
    const payment = this.#payments.get(id);
    if (!payment) throw new PaymentError("unknown_payment", `there is no payment ${id}`, 404);
    if (states && !states.includes(payment.state)) throw new PaymentError("wrong_state", `${id} is ${payment.state}`, 409);
    return payment;
  }

  #change(payment, state) {
    payment.state = state;
    const view = this.#view(payment);
    this.emit("changed", view);
    return view;
  }

  #view({ stopExpiry: _, refunds: __, ...payment }) {
    return { ...payment };
  }
}
