/** A refusal of the domain: `code` is stable and goes to callers, `status` is its HTTP status. */
export class PaymentError extends Error {
  constructor(code, message, status = 422) {
    super(message);
    this.name = "PaymentError";
    this.code = code;
    this.status = status;
  }
}
