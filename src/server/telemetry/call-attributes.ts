/** What calls are called in spans and metrics, by the stable conventions of OpenTelemetry for RPC. */
import type { Binding, CallFacts } from "../../rpc/call-observer.ts";

/** `rpc.system.name`: those that the conventions know; they know none for HTTP+JSON. gRPC-Web has gRPC's, and its own binding. */
export const SYSTEMS: Readonly<Record<Binding, string>> = {
  grpc: "grpc",
  "grpc-web": "grpc",
  connect: "connectrpc",
  "json-rpc": "jsonrpc",
  rest: "http_json",
};

/** `rpc.method` of a call that was refused before its operation was known. */
export const OTHER = "_OTHER";

/** Statuses that say that the server failed, not its caller (the conventions' rule for gRPC). */
const FAULTS: ReadonlySet<string> = new Set(["UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"]);

/** `rpc.method`: service and operation. */
export function methodOf({ service, operation }: CallFacts): string {
  return operation === undefined ? OTHER : `${service}/${operation}`;
}

/** Whether a status is a failure of the server. */
export function isFault(status: string): boolean {
  return FAULTS.has(status);
}
