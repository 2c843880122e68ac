/** Money in minor units: integers only, so that no cent is lost to a fraction. */
import { PaymentError } from "./errors.js";

/** How many digits follow the point (ISO 4217). */
const digits = { BHD: 3, CHF: 2, EUR: 2, GBP: 2, JPY: 0, USD: 2 };

/** The number of digits after the point; throws for a currency that is not traded here. */
export function digitsOf(currency) {
  const known = Object.hasOwn(digits, currency) ? digits[currency] : undefined;
  if (known === undefined) throw new PaymentError("unknown_currency", `unknown currency ${currency}`);
  return known;
}

/** An amount of minor units: `money(1999, "EUR")` is 19.99 euros. */
export function money(minor, currency) {
  digitsOf(currency);
  if (!Number.isSafeInteger(minor)) throw new PaymentError("invalid_amount", `an amount is a whole number of minor units, not ${minor}`);
  return Object.freeze({ minor: minor + 0, currency }); // + 0 makes -0 a plain zero
}

/** Reads a decimal such as "19.99"; refuses more digits than the currency has. */
export function parseMoney(text, currency) {
  const match = /^(-?)(\d{1,12})(?:\.(\d+))?$/.exec(text);
  const places = digitsOf(currency);
  if (!match || (match[3] ?? "").length > places) {
    throw new PaymentError("invalid_amount", `${JSON.stringify(text)} is no amount in ${currency}`);
  }
  const minor = Number(match[2] + (match[3] ?? "").padEnd(places, "0"));
  return money(match[1] ? -minor : minor, currency);
}

/** The decimal that {@link parseMoney} reads, followed by the currency. */
export function formatMoney({ minor, currency }) {
  const places = digitsOf(currency);
  const text = String(Math.abs(minor)).padStart(places + 1, "0");
  const point = text.length - places;
  const decimal = places === 0 ? text : `${text.slice(0, point)}.${text.slice(point)}`;
  return `${minor < 0 ? "-" : ""}${decimal} ${currency}`;
}

function sameCurrency(a, b) {
  if (a.currency !== b.currency) throw new PaymentError("currency_mismatch", `${a.currency} and ${b.currency} do not mix`);
}

export function add(a, b) {
  sameCurrency(a, b);
  return money(a.minor + b.minor, a.currency);
}

export function subtract(a, b) {
  sameCurrency(a, b);
  return money(a.minor - b.minor, a.currency);
}

/** Below zero, zero or above it, as a sort wants it. */
export function compare(a, b) {
  sameCurrency(a, b);
  return a.minor - b.minor;
}

/** A share in basis points (250 = 2.5 %), rounded half to even as banks do. */
export function percentage({ minor, currency }, basisPoints) {
  const product = BigInt(minor) * BigInt(basisPoints);
  const whole = product / 10_000n;
  const rest = product % 10_000n;
  const twice = 2n * (rest < 0n ? -rest : rest);
  const up = twice > 10_000n || (twice === 10_000n && whole % 2n !== 0n);
  return money(Number(up ? whole + (product < 0n ? -1n : 1n) : whole), currency);
}

/** Splits by weights without losing a minor unit: what is left over goes to the first parts, one unit each. */
export function allocate({ minor, currency }, weights) {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total <= 0 || weights.some((weight) => weight < 0)) {
    throw new PaymentError("invalid_weights", "weights are not negative, and one of them is positive");
  }
  const parts = weights.map((weight) => Math.trunc((minor * weight) / total));
  let rest = minor - parts.reduce((sum, part) => sum + part, 0);
  for (let i = 0; rest !== 0; i = (i + 1) % parts.length) {
    if (weights[i] === 0) continue;
    parts[i] += Math.sign(rest);
    rest -= Math.sign(rest);
  }
  return parts.map((part) => money(part, currency));
}
