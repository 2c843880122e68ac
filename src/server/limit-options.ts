/** Options that bound what callers and agents may ask of a server. */
import { z } from "zod";
import { CONNECTION_BOUNDS } from "../bindings/connection-bounds.ts";
import { REQUEST_BOUNDS, type RequestBounds } from "../rpc/request-bounds.ts";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.ts";

const positive = z.int().min(1);
const MiB = 1024 * 1024;
const TIMER_MAX_MS = 2_147_000_000;

const OPERATIONS: readonly string[] = [...A2AService.methods.map(({ name }) => name), "*"];

const rateSchema = z
  .strictObject({ perSecond: z.number().positive().max(1_000_000), burst: positive.max(1_000_000).optional() })
  .transform(({ perSecond, burst }) => ({ perSecond, burst: burst ?? Math.max(1, Math.ceil(perSecond)) }));

/** The group `limits`. */
export const limitSchema = z.strictObject({
  rates: z
    .record(z.string(), rateSchema)
    .superRefine((rates, context) => {
      for (const name of Object.keys(rates))
        if (!OPERATIONS.includes(name))
          context.addIssue({ code: "custom", path: [name], message: `is no operation; right are ${OPERATIONS.join(", ")}` });
    })
    .default({})
    .describe(
      'Calls a second of each caller, over all replicas, by operation, such as {"*":{"perSecond":50,"burst":100},"SendMessage":{"perSecond":5}}. Default: no bound.',
    ),
  streamsPerPrincipal: positive.default(10_000).describe("Streams that one caller may have open at once on this replica."),
  streams: positive.default(50_000).describe("Streams that all callers may have open at once on this replica."),
  callsPerPrincipal: positive.default(10_000).describe("Other calls that one caller may have under way at once on this replica."),
  calls: positive.default(50_000).describe("Other calls that may be under way at once on this replica."),
  connections: positive
    .default(CONNECTION_BOUNDS.connections)
    .describe("Connections that the gRPC port, and the HTTP port, may have at once."),
  streamsPerConnection: positive
    .default(CONNECTION_BOUNDS.streamsPerConnection)
    .describe("Streams of HTTP/2 that a connection may have at once."),
  requestMs: positive
    .max(TIMER_MAX_MS)
    .default(CONNECTION_BOUNDS.requestMs)
    .describe("How long a request may take to come in whole, and a connection to say what it speaks."),
  quietConnectionMs: z
    .int()
    .min(0)
    .max(TIMER_MAX_MS)
    .default(CONNECTION_BOUNDS.quietConnectionMs)
    .describe("How long a connection of HTTP/2 may be without a stream; 0: for ever."),
  turnsPerPrincipal: positive
    .default(10_000)
    .describe("Tasks of one owner that may be at work or wait for a replica at once, on all replicas."),
  maxTurnMs: z
    .int()
    .min(0)
    .max(TIMER_MAX_MS)
    .default(0)
    .describe("How long a turn may work before its task ends FAILED, times in which it waits for its caller left out; 0: for ever."),
  valuesPerRequest: positive
    .default(REQUEST_BOUNDS.values)
    .describe("Scalars, objects and arrays of one request; in binary the fields that hold them."),
  levelsPerRequest: z
    .int()
    .min(10)
    .max(REQUEST_BOUNDS.depth)
    .default(REQUEST_BOUNDS.depth)
    .describe(
      "Messages within each other in one request; an object or array in free JSON counts two. Readers in other languages stop at 100.",
    ),
  eventBytes: positive.default(15 * MiB).describe("Encoded bytes of one event or message."),
  partsPerMessage: positive.default(1000).describe("Parts of one message."),
  partsPerArtifact: positive.default(100_000).describe("Parts of one artifact, those of all its chunks."),
  artifactsPerTask: positive.default(10_000).describe("Artifacts of one task."),
});

/** What one request may hold. */
export function requestBoundsOf({ valuesPerRequest, levelsPerRequest }: z.output<typeof limitSchema>): RequestBounds {
  return { values: valuesPerRequest, depth: levelsPerRequest };
}
