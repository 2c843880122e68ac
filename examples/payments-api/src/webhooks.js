/** Signed webhooks: the receiver can tell who sent it and when, and a captured one cannot be played again later. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { systemClock } from "./clock.js";
import { PaymentError } from "./errors.js";
import { retry, TemporaryError } from "./retry.js";

const mac = (secret, timestamp, body) => createHmac("sha256", secret).update(`${timestamp}.${body}`).digest();

/** The header `t=<ms>,v1=<hex>`; with several secrets (while one replaces another) one `v1` each. */
export function sign(body, secrets, now) {
  return [`t=${now}`, ...secrets.map((secret) => `v1=${mac(secret, now, body).toString("hex")}`)].join(",");
}

/** Throws unless one of the signatures is right and no older than `toleranceMs`. */
export function verify(body, header, secret, { now, toleranceMs = 300_000 }) {
  const fields = header.split(",").map((field) => field.split("=", 2));
  const timestamp = Number(fields.find(([name]) => name === "t")?.[1]);
  if (!Number.isSafeInteger(timestamp)) throw new PaymentError("bad_signature", "the header has no timestamp", 400);
  const expected = mac(secret, timestamp, body);
  const right = fields.some(([name, hex]) => {
    const given = Buffer.from(name === "v1" ? (hex ?? "") : "", "hex");
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  if (!right) throw new PaymentError("bad_signature", "no signature fits", 400);
  if (Math.abs(now - timestamp) > toleranceMs) throw new PaymentError("stale_signature", "the signature is too old", 400);
}

/** Delivers events in order, each at least once: the next one waits until the one before it was taken or given up. */
export class WebhookSender {
  givenUp = [];
  #last = Promise.resolve();
  #options;

  /** `post(body, headers)` answers the receiver's status. */
  constructor({ post, secrets, clock = systemClock, attempts = 4, baseMs = 100 }) {
    this.#options = { post, secrets, clock, attempts, baseMs };
  }

  /** Queues an event; resolves to whether it was taken. */
  send(event) {
    const delivered = this.#last.then(() => this.#deliver(event));
    this.#last = delivered;
    return delivered;
  }

  async #deliver(event) {
    const { post, secrets, clock, attempts, baseMs } = this.#options;
    const body = JSON.stringify(event);
    const attempt = async () => {
      const status = await post(body, { "webhook-signature": sign(body, secrets, clock.now()) });
      if (status === 429 || status >= 500) throw new TemporaryError(`the receiver answered ${status}`);
      if (status >= 300) throw new Error(`the receiver answered ${status}`);
    };
    try {
      await retry(attempt, { attempts, baseMs, clock });
      return true;
    } catch {
      this.givenUp.push(event);
      return false;
    }
  }
}
