/** How webhooks are delivered to. Defaults stand in server/options. */

/** Options of deliveries. */
export interface DeliveryOptions {
  /** Failures in a row after which a webhook is parked. */
  readonly maxFailures: number;
  /** The first pause after a failure; each further one is twice as long, with jitter. */
  readonly retryBaseMs: number;
  readonly retryMaxMs: number;
  /** `status`: artifacts are left out. */
  readonly events: "all" | "status";
  /** Whether chunks of one artifact that wait together go as one. */
  readonly coalesce: boolean;
  /** Tasks whose deliveries this replica claims at once. */
  readonly maxClaims: number;
  /** Bytes of logs that are held in memory for receivers. */
  readonly bufferBytes: number;
}
