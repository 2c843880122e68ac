/** One way to call over five surfaces, each by raw means: what a test says once is said on every wire. */
import { fromJson, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type StreamResponse, StreamResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.ts";

/** A2A's three bindings, and Connect and gRPC-Web beside them. */
type BindingName = "grpc" | "connect" | "grpc-web" | "rest" | "json-rpc";

/** Response headers or initial metadata, by lower-case name. */
export type Headers = ReadonlyMap<string, string>;

/** What goes with a call. */
export interface CallOptions {
  /** Request headers or metadata, beside `a2a-version: 1.0`; undefined leaves one out, a list sends several of one name. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Appended to the request target; HTTP only. */
  readonly query?: string;
  /** Ends the call from the caller's side. */
  readonly signal?: AbortSignal;
  /** Put into `/{tenant}` on HTTP+JSON; the other bindings send it in the request. */
  readonly pathTenant?: string;
}

/** An error, as any binding tells it. */
export interface Failure {
  readonly reason: string | undefined;
  readonly domain: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  /** The fields that BadRequest names. */
  readonly violations: readonly string[];
  /** gRPC status, HTTP status, or JSON-RPC code. */
  readonly code: number;
  /** Status of the HTTP reply; undefined on gRPC and in mid-stream. */
  readonly httpStatus: number | undefined;
  readonly message: string;
}

/** Thrown where a call fails. */
export class CallFailed extends Error {
  override readonly name = "CallFailed";
  readonly failure: Failure;
  readonly headers: Headers;

  constructor(failure: Failure, headers: Headers) {
    super(`${failure.reason}: ${failure.message}`);
    this.failure = failure;
    this.headers = headers;
  }
}

/** The reply of a unary call. */
export interface Reply {
  /** ProtoJSON of the message, read and written again by protobuf: the same for the same message on every wire. */
  readonly message: JsonObject;
  readonly headers: Headers;
}

/** A stream of StreamResponse. Iterating throws {@link CallFailed} where it does not end cleanly. */
export interface Stream extends AsyncIterableIterator<StreamResponse, undefined> {
  /** Resolves when the first frame was read, or rejects with what came instead. */
  readonly headers: Promise<Headers>;
  /** Drops the connection, whatever is pending. */
  leave(): void;
}

/** A client of one binding. */
export interface Caller {
  readonly binding: BindingName;
  /** `method` is the RPC's name, `request` the ProtoJSON of its message. Rejects with {@link CallFailed}. */
  unary(method: string, request?: JsonObject, options?: CallOptions): Promise<Reply>;
  stream(method: string, request?: JsonObject, options?: CallOptions): Stream;
  close(): void;
}

/** Whether a binding streams server-sent events: a drained or stalled stream of such a one just ends, the others say why. */
export function usesSse({ binding }: Pick<Caller, "binding">): boolean {
  return binding === "rest" || binding === "json-rpc";
}

/** The frame as ProtoJSON. */
export function frameJson(frame: StreamResponse): JsonObject {
  return toJson(StreamResponseSchema, frame) as JsonObject;
}

/** A frame read strictly: what is no StreamResponse is no frame. */
export function readFrame(json: JsonValue): StreamResponse {
  return fromJson(StreamResponseSchema, json);
}

/** Reads `google.rpc` details in ProtoJSON. */
export function readDetails(details: readonly JsonObject[]): Pick<Failure, "reason" | "domain" | "metadata" | "violations"> {
  const named = (name: string): JsonObject | undefined =>
    details.find((detail) => detail["@type"] === `type.googleapis.com/google.rpc.${name}`);
  const info = named("ErrorInfo");
  const fields = (named("BadRequest")?.["fieldViolations"] ?? []) as { field?: string }[];
  return {
    reason: info?.["reason"] as string | undefined,
    domain: info?.["domain"] as string | undefined,
    metadata: (info?.["metadata"] ?? {}) as Record<string, string>,
    violations: fields.map(({ field }) => field ?? ""),
  };
}

/** The request headers of a call. */
export function requestHeaders({ headers }: CallOptions): [string, string][] {
  const all = Object.entries({ "a2a-version": "1.0", ...headers });
  return all.flatMap(([name, value]) => [value ?? []].flat().map((one): [string, string] => [name, one]));
}
