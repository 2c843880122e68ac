/** How a gRPC call has failed, as a ConnectError. */
import { fromBinary } from "@bufbuild/protobuf";
import { Code, type ConnectError } from "@connectrpc/connect";
import { status as grpcStatus, type StatusObject } from "@grpc/grpc-js";
import { type Status, StatusSchema } from "../../../gen/google/rpc/status_pb.ts";
import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { unreachedError } from "../../rpc/client-errors.ts";
import { codeOfNumber, peerError, unpackDetails } from "../../rpc/peer-error.ts";
import { PlainHeaders } from "../plain-headers.ts";
import { addMetadata, STATUS_DETAILS } from "./metadata.ts";

/**
 * How grpc-js begins its own words where no connection came about, which have no metadata. It gives no other sign of it; a test holds
 * this against the pinned version.
 */
const UNREACHED = /^(?:round_robin: )?(?:No connection established|Name resolution failed)/;

/** The same for a stream that was reset before any status came, by the server or something on the way. */
const RESET = /^(?:Received RST_STREAM|Call cancelled$)/;

/** Reads a status that is not OK. `header` is the initial metadata as far as it came. */
export function statusError({ code, details: message, metadata }: StatusObject, header: Headers): ConnectError {
  const bytes = metadata.get(STATUS_DETAILS).find((value) => typeof value !== "string");
  const status = bytes === undefined ? undefined : readStatus(bytes);
  const isServers = Object.keys(metadata.getMap()).length > 0;
  if (!isServers && code === grpcStatus.UNAVAILABLE && UNREACHED.test(message)) return unreachedError(message);
  const received = new PlainHeaders();
  for (const [name, value] of header) received.set(name, value);
  addMetadata(received, metadata);
  const details = unpackDetails(status?.details ?? []);
  const isExplained = details.some(({ desc }) => desc === ErrorInfoSchema);
  return peerError({
    // grpc-js leaves some characters of a status's text as they are encoded, a comma for one; the details have it plain.
    message: status?.message || message,
    code: !isServers && RESET.test(message) ? Code.Unavailable : codeOfNumber(code),
    details,
    // Where a path is unknown gRPC says UNIMPLEMENTED: what is not found is a task, or what is kept of one.
    reason: !isExplained && code === grpcStatus.NOT_FOUND ? "TASK_NOT_FOUND" : undefined,
    metadata: received,
  });
}

function readStatus(bytes: Uint8Array): Status | undefined {
  try {
    return fromBinary(StatusSchema, bytes);
  } catch {
    return undefined;
  }
}
