/** Options of webhooks. */
import { isIP } from "node:net";
import { z } from "zod";

const positive = z.int().min(1);
const interval = z.int().min(1).max(2_147_000_000);
const port = z.int().min(1).max(65_535);

/** Whether a text is 32 bytes in base64. */
function isKey(text: string): boolean {
  return Buffer.from(text, "base64").length === 32;
}

/** Whether a text is an address, with a port or without, as `192.0.2.1:53` or `[2001:db8::1]:53`. */
function isServer(text: string): boolean {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\](?::\d{1,5})?|([0-9.]+)(?::\d{1,5})?)$/.exec(text) ?? [];
  return isIP(bracketed ?? plain ?? text) !== 0;
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
  dnsServers: z
    .array(z.string().refine(isServer, "is no address of a name server; right is one as 192.0.2.1 or [2001:db8::1]:53"))
    .default([])
    .describe("Name servers that are asked where webhooks are. Default: the platform's."),
  allowHttp: z.boolean().default(false).describe("Whether webhooks may be called without TLS."),
  ports: z
    .array(z.union([port, z.tuple([port, port])]))
    .default([80, 443, [1024, 65_535]])
    .describe("Ports, and ranges of ports, of webhooks that push.allow does not name."),
  ca: z.string().optional().describe("PEM file of authorities for webhooks. Default: the platform's."),
  timeoutMs: interval.default(15_000).describe("How long a webhook may take to answer."),
  maxFailures: positive.default(12).describe("Failures in a row after which a webhook is parked."),
  retryBaseMs: interval.default(1000).describe("The first pause after a failure; each further one is twice as long."),
  retryMaxMs: interval.default(300_000).describe("The longest pause after a failure."),
  events: z.enum(["all", "status"]).default("all").describe("What webhooks are told: all events, or changes of status only."),
  coalesce: z.boolean().default(false).describe("Whether chunks of an artifact that wait together are sent as one."),
  perHost: positive.default(4).describe("Requests at once to one host."),
  perOwner: positive.default(192).describe("Requests at once for the webhooks of one owner: others get the rest of push.concurrency."),
  concurrency: positive.default(256).describe("Requests at once from this replica."),
  sign: z.boolean().default(false).describe("Whether notifications carry a JWT by the first of signing.keys."),
  bufferBytes: positive.default(64 * 1024 * 1024).describe("Bytes of logs that this replica holds in memory for webhooks that are slow."),
  maxClaims: positive.default(10_000).describe("Tasks whose webhooks this replica serves at once."),
});
