/** Card numbers: check digit, brand, expiry, and the only form in which a number may be written down. */
import { PaymentError } from "./errors.js";

const brands = [
  { name: "amex", pattern: /^3[47]/, lengths: [15], cvc: 4 },
  { name: "mastercard", pattern: /^(5[1-5]|2(22[1-9]|2[3-9]|[3-6]|7[01]|720))/, lengths: [16], cvc: 3 },
  { name: "visa", pattern: /^4/, lengths: [13, 16, 19], cvc: 3 },
];

/** Whether the digits end in their Luhn check digit. */
export function luhn(digits) {
  if (!/^\d+$/.test(digits)) return false;
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i]);
    const doubled = i % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/** The digit that makes `luhn(digits + digit)` true. */
export function checkDigit(digits) {
  return "0123456789".split("").find((digit) => luhn(digits + digit));
}

const brandOf = (digits) => brands.find(({ pattern }) => pattern.test(digits));

/** The brand by its first digits, or undefined. */
export function cardBrand(number) {
  return brandOf(number.replaceAll(/[ -]/g, ""))?.name;
}

/** First six and last four digits: what logs and receipts may show. */
export function maskCard(number) {
  const digits = number.replaceAll(/[ -]/g, "");
  return digits.slice(0, 6) + "*".repeat(Math.max(0, digits.length - 10)) + digits.slice(-4);
}

/**
 * Checks a card and answers what may be kept of it. `now` decides about the expiry: a card is good until the last
 * moment of its month (UTC).
 */
export function validateCard({ number, expMonth, expYear, cvc }, now) {
  const digits = String(number).replaceAll(/[ -]/g, "");
  const brand = brandOf(digits);
  if (!brand) throw new PaymentError("unknown_brand", "no known brand has this number");
  if (!brand.lengths.includes(digits.length) || !luhn(digits)) throw new PaymentError("invalid_number", "the number is mistyped");
  if (!Number.isInteger(expMonth) || expMonth < 1 || expMonth > 12) throw new PaymentError("invalid_expiry", "a month is 1 to 12");
  if (now >= Date.UTC(expYear, expMonth, 1)) throw new PaymentError("expired_card", "the card has expired");
  if (!new RegExp(`^\\d{${brand.cvc}}$`).test(cvc)) throw new PaymentError("invalid_cvc", `${brand.name} has ${brand.cvc} digits of CVC`);
  return { brand: brand.name, masked: maskCard(digits), expMonth, expYear };
}
