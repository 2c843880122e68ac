/** Every option of a server, its default and its unit, in one place. */
import { hostname } from "node:os";
import { z } from "zod";
import { authSchema, tokensSchema } from "./auth-options.ts";
import { limitSchema } from "./limit-options.ts";
import { callLogSchema } from "./telemetry-options.ts";
import { pushSchema } from "./push-options.ts";
import { signingSchema } from "./signing-options.ts";
import { tlsSchema } from "./tls-options.ts";
import { REDIS_DEFAULTS } from "../storage/redis/storage-options.ts";

const ms = z.int().min(0);
const port = z.int().min(0).max(65_535);
const positive = z.int().min(1);
/** What a timer takes: Node fires longer ones at once. */
const TIMER_MAX_MS = 2_147_000_000;
const timer = ms.max(TIMER_MAX_MS);
const interval = timer.min(1);
const MiB = 1024 * 1024;
const DAY_MS = 24 * 60 * 60 * 1000;

/** How Redis is reached; the memory store needs none of it. */
const redisSchema = z.strictObject({
  url: z
    .string()
    .min(1)
    .optional()
    .describe("redis://, rediss://, redis+sentinel://, redis+cluster:// … Default: none, tasks live in this process."),
  prefix: z.string().min(1).default(REDIS_DEFAULTS.prefix).describe("Begins every key and channel."),
  shards: z.int().min(1).max(256).default(REDIS_DEFAULTS.shards).describe("Parts that the keys are spread over; fixed at the first start."),
  durability: z.enum(["local", "replicated", "fsync"]).default(REDIS_DEFAULTS.durability).describe("When a write counts as stored."),
  replicas: positive.default(REDIS_DEFAULTS.replicas).describe("Redis replicas that must have a write in durability replicated."),
  commandTimeoutMs: interval.default(REDIS_DEFAULTS.commandTimeoutMs).describe("How long a reply of Redis may take."),
  tlsCa: z.string().optional().describe("PEM file of authorities for rediss. Default: the platform's."),
  tlsCert: z.string().optional().describe("PEM file of this program's certificate. Default: none."),
  tlsKey: z.string().optional().describe("PEM file of its key. Default: none."),
});

/** Pages of other origins that may call; browsers ask. */
const corsSchema = z.strictObject({
  origins: z
    .array(
      z
        .string()
        .refine((text) => URL.canParse(text) && new URL(text).origin === text, "is an exact origin, such as https://app.example.com"),
    )
    .default([])
    .describe("Origins whose pages may call from a browser. Default: none, CORS is off."),
  maxAgeSeconds: z
    .int()
    .min(0)
    .default(7200)
    .describe("How long browsers may keep the answer to a preflight request; Chromium keeps it 7200 at most."),
});

/** The one schema: files, environment, flags and the API are all judged by it. */
export const optionsSchema = z.strictObject({
  host: z.string().default("127.0.0.1").describe("Address to listen on."),
  grpcPort: port.default(50_051).describe("Port of gRPC; 0 picks one."),
  httpPort: port.default(8080).describe("Port of all that is HTTP: HTTP+JSON, JSON-RPC, Connect, gRPC-Web, the card; 0 picks one."),
  opsPort: port.default(9464).describe("Port of probes and metrics; 0 picks one."),
  publicGrpcUrl: z.string().optional().describe("host:port that the card names for gRPC. Default: the listening address."),
  publicHttpUrl: z.url().optional().describe("URL that the card names for HTTP. Default: the listening address."),
  restPrefix: z
    .string()
    .regex(/^(\/[A-Za-z0-9._~-]+)*$/, "is empty or like /api/v1")
    .default("")
    .describe("Path before the HTTP+JSON routes."),
  reflection: z.boolean().default(true).describe("Whether gRPC clients without the schema may ask for it."),
  replica: z.string().min(1).default(`${hostname()}-${process.pid}`).describe("Name of this replica; unique among all."),
  tokens: tokensSchema
    .optional()
    .describe(
      'Bearer tokens and who they stand for, such as {"s3cret":"alice"}, or what they may do as well: docs/security.md. Default: everybody is let in.',
    ),
  auth: authSchema.prefault({}).describe("Who may call, and what."),
  tls: tlsSchema.prefault({}).describe("TLS on the gRPC and the HTTP port."),
  signing: signingSchema.prefault({}).describe("Signatures of the card."),
  tenants: z
    .union([
      z.literal("any"),
      z.array(
        z
          .string()
          .min(1)
          .refine((tenant) => tenant !== "tasks", "a tenant may not be called tasks"),
      ),
    ])
    .optional()
    .describe("Tenants that calls may name: any, or a list. Default: none."),
  assumeVersion: z.literal("1.0").optional().describe("Version of calls that name none. Default: none, they are refused."),
  errorCodes: z.enum(["1.0.1", "1.0.0"]).default("1.0.1").describe("Whose error codes are used, where A2A 1.0.0 and 1.0.1 differ."),
  dedupe: z
    .strictObject({
      mode: z.enum(["window", "running", "off"]).default("window").describe("How repeated sends are joined: window, running or off."),
      windowMs: ms.default(10 * 60 * 1000).describe("How long a repeat is told in mode window."),
    })
    .prefault({})
    .describe("How repeated sends are joined."),
  push: pushSchema.prefault({}).describe("Webhooks."),
  limits: limitSchema.prefault({}).describe("What callers and agents may ask of a server."),
  callLog: callLogSchema,
  closeOnInputRequired: z.enum(["send", "all", "none"]).default("send").describe("Streams that end at INPUT_REQUIRED."),
  cors: corsSchema.prefault({}).describe("Calls from browsers."),
  jsonContentType: z
    .enum(["application/a2a+json", "application/json"])
    .default("application/a2a+json")
    .describe("Type of HTTP+JSON replies to callers that name none."),
  forwardHeaders: z
    .array(z.string().regex(/^[a-z0-9_.-]+$/, "names of header fields, in lower case"))
    .default([])
    .describe("Header fields of a call that the agent is shown (turn.headers). Their values are stored with the task."),
  redis: redisSchema.prefault({}).describe("The store that replicas share."),
  capacity: positive.default(1000).describe("Turns at once on this replica."),
  maxOwnedTasks: positive.default(10_000).describe("Tasks that this replica owns at once, those whose turn waits for its caller included."),
  workingAfterMs: timer.default(100).describe("A turn that has yielded nothing for this long gets WORKING."),
  cancelGraceMs: timer.default(5000).describe("How long a canceled turn may take to end by itself."),
  replyTimeoutMs: interval.default(10_000).describe("How long an agent's reply() may think."),
  maxAttempts: positive.default(3).describe("Runs of a resumable turn before it ends FAILED."),
  maxMessageBytes: positive.default(16 * MiB).describe("Largest request, on every binding."),
  maxTaskBytes: positive.default(15 * MiB).describe("Encoded bytes of a Task beyond which it ends FAILED."),
  historyLimit: positive.default(1000).describe("Messages that a task's history keeps."),
  maxBatch: positive.default(20).describe("Requests of one JSON-RPC batch."),
  cacheBytes: positive.default(64 * MiB).describe("Folded tasks kept in memory."),
  maxBytes: positive.default(256 * MiB).describe("Bytes that the memory store may take."),
  retentionMs: ms.default(7 * DAY_MS).describe("Finished tasks go after this long."),
  interruptedRetentionMs: ms.default(30 * DAY_MS).describe("Interrupted tasks that nobody goes on with end CANCELED after this long."),
  windowEntries: positive.default(1000).describe("Entries of a task that readers can resume in."),
  windowBytes: positive.default(MiB).describe("Bytes of entries that readers can resume in; the smaller of both counts."),
  webhookLagBytes: positive.default(16 * MiB).describe("Bytes of a log that are kept for a webhook that lags behind."),
  leaseMs: positive.default(15_000).describe("How long a lease lasts without renewal."),
  renewMs: interval.default(5000).describe("Time between two renewals."),
  sweepMs: interval.default(500).describe("Time between two looks for expired leases and for tasks that wait."),
  healWindowMs: ms
    .default(10_000)
    .describe("How long an owner keeps what it appended to Redis, to write it again where a failover lost it."),
  keepaliveMs: interval.default(15_000).describe("Time between two SSE comments or HTTP/2 PINGs on a quiet stream."),
  keepaliveTimeoutMs: interval.default(20_000).describe("How long the answer to an HTTP/2 PING may take."),
  stalledStreamMs: interval.default(60_000).describe("A stream whose reader takes nothing for this long is ended."),
  stallFlushMs: timer.default(1000).describe("How long the end of such a stream may take to be flushed."),
  egressBytes: positive
    .default(64 * MiB)
    .describe("Bytes of large frames on their way to all readers, and as many again of replies that nobody has read yet."),
  idleConnectionMs: timer
    .default(75_000)
    .describe("How long an HTTP/1.1 connection may be idle; longer than the pool of a proxy in front keeps it."),
  connectionAgeMs: timer
    .min(1000)
    .optional()
    .describe("How long a gRPC connection may last, for clients that else stay with the replicas they know. Default: for ever."),
  readinessGraceMs: ms.default(5000).describe("How long the store may be away before a replica says that it is not ready."),
  drainDelayMs: timer.default(5000).describe("Time between readiness going false and the drain."),
  streamGraceMs: timer.default(2000).describe("How long streams may end by themselves in a drain."),
  drainMs: timer.default(20_000).describe("How long turns and calls may end by themselves in a drain."),
});

/** Options, complete. */
export type ServerOptions = z.output<typeof optionsSchema>;
/** Options as they are given: everything may be left out. */
export type ServerOptionsInput = z.input<typeof optionsSchema>;

/** Path and description of every option, those of nested objects one by one. */
export function describedOptions(): readonly { readonly path: readonly string[]; readonly description: string }[] {
  return Object.entries(optionsSchema.shape).flatMap(([key, schema]) => {
    const description = schema.description ?? "";
    const members = membersOf(schema);
    if (members === undefined) return [{ path: [key], description }];
    return Object.entries(members).map(([name, member]) => ({ path: [key, name], description: member.description ?? description }));
  });
}

/** The schema of an option, or of a member of one that is an object. */
export function schemaAt([key, member]: readonly string[]): z.ZodType | undefined {
  const schema: z.ZodType | undefined = optionsSchema.shape[key as keyof typeof optionsSchema.shape];
  return member === undefined ? schema : membersOf(schema)?.[member];
}

/** All values of an option that has few: of an enum, `true` and `false`; undefined for others. */
export function choicesOf(schema: z.ZodType | undefined): readonly string[] | undefined {
  if (schema === undefined) return undefined;
  const { type, innerType, entries, values } = schema.def as {
    type: string;
    innerType?: z.ZodType;
    entries?: Readonly<Record<string, string>>;
    values?: readonly string[];
  };
  if (type === "boolean") return ["true", "false"];
  return (entries && Object.values(entries)) ?? values ?? choicesOf(innerType);
}

/** The members of an option that is an object of its own. */
function membersOf(schema: z.ZodType): Readonly<Record<string, z.ZodType>> | undefined {
  const { innerType, shape } = schema.def as { innerType?: z.ZodType; shape?: Readonly<Record<string, z.ZodType>> };
  if (shape !== undefined) return shape;
  return schema.type === "prefault" && innerType !== undefined ? membersOf(innerType) : undefined;
}

/** An option that is wrong; the message names each. */
export class OptionsError extends Error {
  override readonly name = "OptionsError";
}

/** Options of different groups that do not go together. */
function contradictions({ auth, tls, tenants, push, signing }: ServerOptions): string[] {
  const wrong: string[] = [];
  if (push.sign && signing.keys.length === 0) wrong.push("push.sign: needs signing.keys, the first of which signs");
  if (auth.clientCertificates !== undefined && tls.clientCa === undefined)
    wrong.push("auth.clientCertificates: needs tls.clientCa, whose certificates they are to be");
  if (tenants === undefined && auth.jwt?.some(({ tenantsClaim }) => tenantsClaim !== undefined))
    wrong.push("auth.jwt: a tenantsClaim has no effect without tenants");
  return wrong;
}

/** The name of an option. In `tokens` the keys are what gives access: they are not told. */
function shown(path: readonly PropertyKey[]): string {
  return path.map((one, at) => (at === 1 && path[0] === "tokens" ? "…" : String(one))).join(".");
}

/** Completes options. Throws {@link OptionsError}. */
export function resolveOptions(given: ServerOptionsInput): ServerOptions {
  const result = optionsSchema.safeParse(given);
  const problems = result.success
    ? contradictions(result.data)
    : result.error.issues.map(
        ({ path, message }) => `${shown(path) || "options"}: ${message.replace(/^Invalid input: .*, received undefined$/, "is needed")}`,
      );
  if (result.success && problems.length === 0) return result.data;
  throw new OptionsError(problems.join("\n"));
}
