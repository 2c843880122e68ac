/** The operations as a conformance suite calls them, whichever the transport; each answers and throws in one form. */
import type { JsonObject } from "@bufbuild/protobuf";

/** The transports by the names that the suites give them. */
type Transport = "jsonrpc" | "http_json" | "grpc";

/** Headers or metadata beside `A2A-Version: 1.0`; undefined leaves that one out. */
export type SuiteHeaders = Readonly<Record<string, string | undefined>>;

/** Thrown where an operation fails. */
export class SuiteError extends Error {
  override readonly name = "SuiteError";
  /** `ErrorInfo.reason`. */
  readonly reason: string | undefined;
  /** JSON-RPC code, HTTP status or gRPC status. */
  readonly code: number;

  constructor(reason: string | undefined, code: number, message: string) {
    super(`${reason} (${code}): ${message}`);
    this.reason = reason;
    this.code = code;
  }
}

/** What ListTasks is asked. */
export interface ListQuery {
  readonly contextId: string;
  readonly pageSize?: number;
  readonly includeArtifacts?: boolean;
}

/** A client of one transport. Replies are ProtoJSON. */
export interface SuiteClient {
  readonly transport: Transport;
  send(message: JsonObject, configuration?: JsonObject): Promise<JsonObject>;
  stream(message: JsonObject, configuration?: JsonObject): AsyncGenerator<JsonObject>;
  getTask(id: string, historyLength?: number): Promise<JsonObject>;
  listTasks(query: ListQuery): Promise<JsonObject>;
  cancelTask(id: string): Promise<JsonObject>;
  /** Returning it drops the connection. */
  subscribe(id: string): AsyncGenerator<JsonObject>;
  createPush(taskId: string, config: JsonObject): Promise<JsonObject>;
  getPush(taskId: string, id: string): Promise<JsonObject>;
  listPush(taskId: string): Promise<JsonObject>;
  deletePush(taskId: string, id: string): Promise<void>;
  extendedCard(): Promise<JsonObject>;
  close(): void;
}

/** `ErrorInfo.reason` among the details of an error. */
export function reasonIn(details: unknown): string | undefined {
  const list = (details ?? []) as { "@type": string; reason?: string }[];
  return list.find((detail) => detail["@type"].endsWith("google.rpc.ErrorInfo"))?.reason;
}
