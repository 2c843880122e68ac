/** What is wrong with an acceptance that was asked for, or with a record that was read. */

/** Bad input: `field` is what is wrong, the message says what would be right. Nothing was recorded. */
export class AcceptanceError extends Error {
  override readonly name = "AcceptanceError";
  readonly field: string;
  /** What would be right. */
  readonly description: string;

  constructor(field: string, description: string, options?: ErrorOptions) {
    super(`${field}: ${description}`, options);
    this.field = field;
    this.description = description;
  }
}
