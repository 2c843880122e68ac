/**
 * The one table between error vocabularies: reason, gRPC code, HTTP status, JSON-RPC code (requirements 1.4, 1.5, C-06, C-33, C-60).
 */
import { type Channel, channel } from "node:diagnostics_channel";
import {
  create,
  createRegistry,
  toBinary,
  toJson,
  type DescMessage,
  type JsonObject,
  type Message,
  type MessageShape,
  type Registry,
} from "@bufbuild/protobuf";
import { type Any, anyPack, AnySchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import { type Reason, TaskError, type Violation } from "../core/errors.ts";

/** ErrorInfo domain of A2A's own reasons. */
export const A2A_DOMAIN = "a2a-protocol.org";
/** ErrorInfo domain of the reasons that A2A leaves to the implementation. */
const OWN_DOMAIN = "throughline.dev";

/** One row: what a reason is called on each binding. */
interface Row {
  readonly code: Code;
  readonly http: number;
  readonly jsonRpc: number;
  readonly domain: string;
  /** HTTP status of a JSON-RPC reply: 200 for an error of the call, the real status for one of the transport (C-60). */
  readonly jsonRpcHttp: number;
}

const a2a = (code: Code, http: number, jsonRpc: number): Row => ({ code, http, jsonRpc, domain: A2A_DOMAIN, jsonRpcHttp: 200 });
const call = (code: Code, http: number, jsonRpc: number): Row => ({ code, http, jsonRpc, domain: OWN_DOMAIN, jsonRpcHttp: 200 });
const transport = (code: Code, http: number, jsonRpc: number): Row => ({ code, http, jsonRpc, domain: OWN_DOMAIN, jsonRpcHttp: http });

const TABLE: Readonly<Record<Reason, Row>> = {
  TASK_NOT_FOUND: a2a(Code.NotFound, 404, -32001),
  TASK_NOT_CANCELABLE: a2a(Code.FailedPrecondition, 400, -32002),
  PUSH_NOTIFICATION_NOT_SUPPORTED: a2a(Code.FailedPrecondition, 400, -32003),
  UNSUPPORTED_OPERATION: a2a(Code.FailedPrecondition, 400, -32004),
  CONTENT_TYPE_NOT_SUPPORTED: a2a(Code.InvalidArgument, 400, -32005),
  INVALID_AGENT_RESPONSE: a2a(Code.Internal, 500, -32006),
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: a2a(Code.FailedPrecondition, 400, -32007),
  EXTENSION_SUPPORT_REQUIRED: a2a(Code.FailedPrecondition, 400, -32008),
  VERSION_NOT_SUPPORTED: a2a(Code.FailedPrecondition, 400, -32009),
  INVALID_ARGUMENT: call(Code.InvalidArgument, 400, -32602),
  UNAUTHENTICATED: transport(Code.Unauthenticated, 401, -31401),
  PERMISSION_DENIED: transport(Code.PermissionDenied, 403, -31403),
  TENANT_NOT_FOUND: call(Code.NotFound, 404, -31404),
  MESSAGE_TOO_LARGE: transport(Code.ResourceExhausted, 413, -31413),
  RESOURCE_EXHAUSTED: transport(Code.ResourceExhausted, 429, -31429),
  STORE_UNAVAILABLE: transport(Code.Unavailable, 503, -32603),
  NEWER_VERSION: transport(Code.Unavailable, 503, -32603),
  IDENTITY_UNAVAILABLE: transport(Code.Unavailable, 503, -32603),
  SERVER_DRAINING: transport(Code.Unavailable, 503, -32603),
  STREAM_DRAINED: transport(Code.Unavailable, 503, -32603),
  STREAM_STALLED: transport(Code.Unavailable, 503, -32603),
  DEADLINE_EXCEEDED: transport(Code.DeadlineExceeded, 504, -32603),
  CANCELLED: transport(Code.Canceled, 499, -32603),
  PARSE_ERROR: call(Code.InvalidArgument, 400, -32700),
  INVALID_REQUEST: call(Code.InvalidArgument, 400, -32600),
  METHOD_NOT_FOUND: call(Code.Unimplemented, 404, -32601),
  PATH_NOT_FOUND: transport(Code.NotFound, 404, -32601),
  METHOD_NOT_ALLOWED: transport(Code.Unimplemented, 405, -32600),
  UNSUPPORTED_ENCODING: transport(Code.Unimplemented, 415, -31415),
  UNSUPPORTED_MEDIA_TYPE: { ...a2a(Code.InvalidArgument, 415, -32005), jsonRpcHttp: 415 },
  INTERNAL: call(Code.Internal, 500, -32603),
};

/** Where A2A 1.0.0 had other codes (C-06). */
const OLDER: Partial<Record<Reason, Pick<Row, "code" | "http">>> = {
  TASK_NOT_CANCELABLE: { code: Code.FailedPrecondition, http: 409 },
  PUSH_NOTIFICATION_NOT_SUPPORTED: { code: Code.Unimplemented, http: 400 },
  UNSUPPORTED_OPERATION: { code: Code.Unimplemented, http: 400 },
  CONTENT_TYPE_NOT_SUPPORTED: { code: Code.InvalidArgument, http: 415 },
  INVALID_AGENT_RESPONSE: { code: Code.Internal, http: 502 },
  VERSION_NOT_SUPPORTED: { code: Code.Unimplemented, http: 400 },
};

/** The table's reasons, each with its code as gRPC spells it and its HTTP status, for documents. */
export function errorReasons(): { readonly reason: Reason; readonly status: string; readonly http: number }[] {
  return Object.entries(TABLE).map(([reason, { code, http }]) => ({ reason: reason as Reason, status: statusName(code), http }));
}

/** A reason's code and domain, where the reason is one of the table. */
export function knownReason(reason: string): { readonly code: Code; readonly domain: string } | undefined {
  return Object.hasOwn(TABLE, reason) ? TABLE[reason as Reason] : undefined;
}

/** The reason that a JSON-RPC code stands for: where several share one, an error of the call before one of the transport. */
export function reasonOfJsonRpc(jsonRpc: number): Reason | undefined {
  return BY_JSON_RPC.get(jsonRpc);
}

const BY_JSON_RPC: ReadonlyMap<number, Reason> = new Map(
  Object.entries(TABLE)
    // The last of several stays.
    .toSorted(([, one], [, other]) => other.jsonRpcHttp - one.jsonRpcHttp)
    .map(([reason, { jsonRpc }]) => [jsonRpc, reason as Reason]),
);

/** The reason written into ErrorInfo where it differs from the key of the table (C-61: a media type is a media type). */
const PUBLISHED: Partial<Record<Reason, string>> = { UNSUPPORTED_MEDIA_TYPE: "CONTENT_TYPE_NOT_SUPPORTED" };

/** gRPC's details travel in a trailer, and one that is too long ends the connection; beyond this many bytes violations are cut and counted. */
const MAX_DETAIL_BYTES = 4096;
/** Bytes of a message and of one value of the metadata: what callers sent may stand in both. */
const MAX_TEXT_BYTES = 512;

const reasons = new WeakMap<ConnectError, Reason>();
/** Rows of errors that do not have the table's. */
const older = new WeakMap<ConnectError, Row>();
const retries = new WeakMap<ConnectError, number>();

/** Tells of errors that callers only see as INTERNAL: subscribe to log them. */
export const internalErrors: Channel = channel("throughline.internal-error");

/** Turns anything thrown into the ConnectError that every binding understands; an unknown cause becomes INTERNAL and tells nothing. */
export function toConnectError(error: unknown): ConnectError {
  if (error instanceof ConnectError) return error;
  if (!(error instanceof TaskError)) {
    internalErrors.publish(error);
    return connectError("INTERNAL", "internal error", { cause: error });
  }
  if (error.reason === "INTERNAL") internalErrors.publish(error.cause ?? error);
  return connectError(error.reason, error.message, error);
}

/** Builds the ConnectError of a reason, with ErrorInfo and, where fields are named, BadRequest. */
export function connectError(reason: Reason, message: string, extras: ErrorFacts = {}): ConnectError {
  const row = TABLE[reason];
  const metadata = Object.fromEntries(Object.entries(extras.metadata ?? {}).map(([name, value]) => [name, cut(value)]));
  const info = { reason: PUBLISHED[reason] ?? reason, domain: row.domain, metadata };
  const details: { desc: DescMessage; value: Message }[] = [{ desc: ErrorInfoSchema, value: create(ErrorInfoSchema, info) }];
  if (extras.violations?.length) details.push({ desc: BadRequestSchema, value: badRequest(extras.violations) });
  if (extras.retryAfterMs !== undefined) {
    details.push({ desc: RetryInfoSchema, value: create(RetryInfoSchema, { retryDelay: duration(extras.retryAfterMs) }) });
  }
  const result = withoutStack(() => new ConnectError(cut(message), row.code, undefined, details, extras.cause));
  reasons.set(result, reason);
  if (extras.retryAfterMs !== undefined) retries.set(result, extras.retryAfterMs);
  return result;
}

/** Makes an error that goes to a caller, and to nobody who would read where it was made: to find that out is most of what it costs. */
function withoutStack<T>(make: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return make();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** The same error with the codes of A2A 1.0.0, where they were others. */
export function withOlderCodes(thrown: unknown): ConnectError {
  const error = toConnectError(thrown);
  const reason = reasons.get(error);
  const codes = reason && OLDER[reason];
  if (reason === undefined || codes === undefined) return error;
  const { rawMessage, metadata, details, cause } = error;
  const result = withoutStack(() => new ConnectError(rawMessage, codes.code, metadata, details as OutgoingDetail[], cause));
  reasons.set(result, reason);
  older.set(result, { ...TABLE[reason], ...codes });
  return result;
}

type OutgoingDetail = Extract<ConnectError["details"][number], { desc: DescMessage }>;

/** What {@link connectError} takes besides the reason and the message. */
export interface ErrorFacts {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly violations?: readonly Violation[];
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

function cut(text: string): string {
  if (text.length * 3 <= MAX_TEXT_BYTES) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(MAX_TEXT_BYTES));
  return read < text.length ? `${text.slice(0, read)}…` : text;
}

function badRequest(violations: readonly Violation[]): MessageShape<typeof BadRequestSchema> {
  const kept: { field: string; description: string }[] = [];
  let bytes = 0;
  for (const { field, description } of violations) {
    const row = { field: field.slice(0, 200), description: description.slice(0, 400) };
    bytes += 3 * (row.field.length + row.description.length) + 8;
    if (bytes > MAX_DETAIL_BYTES / 2) {
      kept.push({ field: "", description: `${violations.length - kept.length} more fields are wrong` });
      break;
    }
    kept.push(row);
  }
  return create(BadRequestSchema, { fieldViolations: kept });
}

function duration(ms: number): { seconds: bigint; nanos: number } {
  return { seconds: BigInt(Math.floor(ms / 1000)), nanos: (ms % 1000) * 1_000_000 };
}

/** An error as the wire forms need it. */
export interface WireError {
  readonly reason: Reason;
  readonly code: Code;
  /** The code's name as gRPC spells it, `NOT_FOUND`. */
  readonly status: string;
  readonly http: number;
  readonly jsonRpc: number;
  readonly jsonRpcHttp: number;
  readonly message: string;
  readonly details: readonly Any[];
  /** Seconds for a `Retry-After` header. */
  readonly retryAfterSeconds: number | undefined;
}

/** What a call ended with: for those who watch calls. */
export interface CallStatus {
  /** The code's name as gRPC spells it, `OK` or `NOT_FOUND`. */
  readonly status: string;
  /** Undefined where the call ended well. */
  readonly reason: Reason | undefined;
}

/** The status of a call that ended well. */
const OK: CallStatus = { status: "OK", reason: undefined };

/** What a call ended with that threw this; undefined: it ended well. Tells nobody of it, unlike {@link wireError}. */
export function callStatus(thrown: unknown): CallStatus {
  if (thrown === undefined) return OK;
  if (thrown instanceof ConnectError) {
    return { status: statusName(thrown.code), reason: reasons.get(thrown) ?? BY_CODE.get(thrown.code) ?? "INTERNAL" };
  }
  const reason = thrown instanceof TaskError ? thrown.reason : "INTERNAL";
  return { status: statusName(TABLE[reason].code), reason };
}

/** Reads a ConnectError back through the table; one that was not made here is classified by its code alone. */
export function wireError(thrown: unknown): WireError {
  const error = toConnectError(thrown);
  const reason = reasons.get(error) ?? BY_CODE.get(error.code) ?? "INTERNAL";
  const row = older.get(error) ?? TABLE[reason];
  const details: Any[] = [];
  for (const detail of error.details) {
    if ("desc" in detail) details.push(anyPack(detail.desc, create(detail.desc, detail.value)));
  }
  const retryMs = retries.get(error);
  return {
    reason,
    code: error.code,
    status: statusName(error.code),
    http: row.http,
    jsonRpc: row.jsonRpc,
    jsonRpcHttp: row.jsonRpcHttp,
    message: error.rawMessage,
    details,
    retryAfterSeconds: retryMs === undefined ? undefined : Math.max(1, Math.ceil(retryMs / 1000)),
  };
}

const BY_CODE: ReadonlyMap<Code, Reason> = new Map([
  [Code.Canceled, "CANCELLED"],
  [Code.DeadlineExceeded, "DEADLINE_EXCEEDED"],
  [Code.InvalidArgument, "INVALID_ARGUMENT"],
  [Code.NotFound, "PATH_NOT_FOUND"],
  [Code.PermissionDenied, "PERMISSION_DENIED"],
  [Code.ResourceExhausted, "RESOURCE_EXHAUSTED"],
  [Code.Unimplemented, "METHOD_NOT_FOUND"],
  [Code.Unavailable, "STORE_UNAVAILABLE"],
  [Code.Unauthenticated, "UNAUTHENTICATED"],
]);

const STATUS_EXCEPTIONS: Partial<Record<Code, string>> = { [Code.Canceled]: "CANCELLED" };

/** The code's name as gRPC spells it, `NOT_FOUND`. */
export function statusName(code: Code): string {
  return STATUS_EXCEPTIONS[code] ?? Code[code].replace(/(?<=[a-z])([A-Z])/g, "_$1").toUpperCase();
}

/** What an error may carry. */
export const DETAIL_SCHEMAS: readonly DescMessage[] = [ErrorInfoSchema, BadRequestSchema, RetryInfoSchema];
const DETAIL_TYPES: Registry = createRegistry(...DETAIL_SCHEMAS);

/** The details as ProtoJSON, each with its `@type`. */
export function detailsJson(error: WireError): JsonObject[] {
  return error.details.map((detail) => toJson(AnySchema, detail, { registry: DETAIL_TYPES }) as JsonObject);
}

/** `google.rpc.Status` bytes for gRPC's `grpc-status-details-bin`. */
export function statusBytes(error: WireError): Uint8Array {
  return toBinary(StatusSchema, create(StatusSchema, { code: error.code, message: error.message, details: [...error.details] }));
}
