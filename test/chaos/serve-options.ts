/** How the replicas of a run are set up: short leases, short drains, and a window that keeps every log whole. */
export const SERVE_OPTIONS = {
  grpcPort: 0,
  httpPort: 0,
  opsPort: 0,
  leaseMs: 3000,
  renewMs: 1000,
  keepaliveMs: 1000,
  keepaliveTimeoutMs: 4000,
  capacity: 12,
  cancelGraceMs: 1500,
  drainDelayMs: 200,
  streamGraceMs: 300,
  drainMs: 2000,
  maxAttempts: 20,
  windowEntries: 1_000_000,
  windowBytes: 1_000_000_000,
} as const;

/** What replicas are told besides where tasks have webhooks: receivers on this machine, tried again soon and for long. */
export const PUSH_OPTIONS = {
  enabled: true,
  allow: ["127.0.0.0/8"],
  timeoutMs: 1500,
  maxFailures: 40,
  retryBaseMs: 50,
  retryMaxMs: 1000,
} as const;
