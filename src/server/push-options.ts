/** Options of webhooks. */
import { z } from "zod";

const positive = z.int().min(1);
const interval = z.int().min(1).max(2_147_000_000);
const port = z.int().min(1).max(65_535);

/** Whether a text is 32 bytes in base64. */
function isKey(text: string): boolean {
  return Buffer.from(text, "base64").length === 32;
}

/** The group `push`. */
export const pushSchema = z.strictObject({
  enabled: z.boolean().default(false).describe("Whether callers may register webhooks."),
  maxConfigs: positive.default(100).describe("Webhooks that a task may have."),
  redact: z.boolean().default(false).describe("Whether replies leave out tokens and credentials of webhooks."),
  keys: z
    .array(z.string().refine(isKey, "is no key: right are 32 bytes in base64"))
    .default([])
    .describe("Keys by which webhooks are encrypted in the store, 32 bytes in base64 each; the first encrypts. Default: none."),
  allow: z
    .array(z.string().min(1))
    .default([])
    .describe("Hosts, *.suffixes and networks that webhooks may be at although they are not public. Default: none."),
  allowHttp: z.boolean().default(false).describe("Whether webhooks may be called without TLS."),
  ports: z
    .array(z.union([port, z.tuple([port, port])]))
    .default([80, 443, [1024, 65_535]])
    .describe("Ports, and ranges of ports, that webhooks may be at."),
  ca: z.string().optional().describe("PEM file of authorities for webhooks. Default: the platform's."),
  timeoutMs: interval.default(15_000).describe("How long a webhook may take to answer."),
  maxFailures: positive.default(12).describe("Failures in a row after which a webhook is parked."),
  retryBaseMs: interval.default(1000).describe("The first pause after a failure; each further one is twice as long."),
  retryMaxMs: interval.default(300_000).describe("The longest pause after a failure."),
  events: z.enum(["all", "status"]).default("all").describe("What webhooks are told: all events, or changes of status only."),
  coalesce: z.boolean().default(false).describe("Whether chunks of an artifact that wait together are sent as one."),
  perHost: positive.default(4).describe("Requests at once to one host."),
  concurrency: positive.default(256).describe("Requests at once from this replica."),
  maxClaims: positive.default(10_000).describe("Tasks whose webhooks this replica serves at once."),
});
