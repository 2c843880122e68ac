/** Errors of HTTP+JSON as OpenAPI has them: a response per HTTP status of the error table. */
import type { JsonObject } from "@bufbuild/protobuf";
import { DETAIL_SCHEMAS, errorReasons } from "../../rpc/errors.ts";
import type { Schemas } from "./schemas.ts";

type Reason = ReturnType<typeof errorReasons>[number]["reason"];

/** Reasons that no caller of an operation is answered with: those of other bindings, of no operation, of streams that end cleanly, of callers who have gone. */
const NEVER: ReadonlySet<Reason> = new Set<Reason>([
  "INVALID_REQUEST",
  "METHOD_NOT_FOUND",
  "PATH_NOT_FOUND",
  "METHOD_NOT_ALLOWED",
  "STREAM_DRAINED",
  "STREAM_STALLED",
  "CANCELLED",
]);

/** Statuses that only a request with a body is answered with. */
const OF_BODIES: ReadonlySet<string> = new Set(["413", "415"]);

/** Headers that come with a status. */
const HEADERS: Readonly<Record<string, JsonObject>> = {
  "401": { "WWW-Authenticate": { description: "How to authenticate.", schema: { type: "string" } } },
  "429": retryAfter(),
  "503": retryAfter(),
};

/** The responses of the document's components, by status. */
export function errorResponses(): JsonObject {
  const rows = Map.groupBy(
    errorReasons().filter(({ reason }) => !NEVER.has(reason)),
    ({ http }) => String(http),
  );
  return Object.fromEntries([...rows].map(([status, reasons]) => [status, errorResponse(status, reasons)]));
}

/** What an operation may be answered with beside its success. */
export function errorReferences(responses: JsonObject, { hasBody }: { readonly hasBody: boolean }): JsonObject {
  const statuses = Object.keys(responses).filter((status) => hasBody || !OF_BODIES.has(status));
  return Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/${status}` }]));
}

/** The body of every error. */
export function errorSchema(schemas: Schemas): JsonObject {
  const details = DETAIL_SCHEMAS.map((desc) => ({
    type: "object",
    properties: { "@type": { const: `type.googleapis.com/${desc.typeName}` } },
    required: ["@type"],
    allOf: [schemas.message(desc)],
  }));
  const properties = {
    code: { type: "integer", description: "The HTTP status." },
    status: { type: "string", description: "The gRPC code.", enum: [...new Set(errorReasons().map(({ status }) => status))] },
    message: { type: "string", description: "For people." },
    details: { type: "array", description: "The first one is the ErrorInfo with the reason.", items: { oneOf: details } },
  };
  return {
    type: "object",
    description: "An error: google.rpc.Status in HTTP's form.",
    properties: { error: { type: "object", properties, required: Object.keys(properties) } },
    required: ["error"],
  };
}

function errorResponse(status: string, reasons: ReturnType<typeof errorReasons>): JsonObject {
  const byCode = Map.groupBy(reasons, (row) => row.status);
  const words = [...byCode].map(([code, rows]) => `${code}: ${rows.map(({ reason }) => reason).join(", ")}`);
  const headers = HEADERS[status];
  return {
    description: words.join("; "),
    ...(headers !== undefined && { headers }),
    content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
  };
}

function retryAfter(): JsonObject {
  return { "Retry-After": { description: "Seconds to wait before the next try.", schema: { type: "integer" } } };
}
