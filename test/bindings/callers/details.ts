/** Error details in binary: what gRPC, gRPC-Web and Connect carry. */
import { create, fromBinary } from "@bufbuild/protobuf";
import { type Any, AnySchema, anyUnpack } from "@bufbuild/protobuf/wkt";
import { BadRequestSchema, ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.ts";
import type { Failure } from "./caller.ts";

type Details = Pick<Failure, "reason" | "domain" | "metadata" | "violations">;

/** Reads `google.rpc.Status`, as `grpc-status-details-bin` has it. */
export function readStatus(bytes: Uint8Array | undefined): Details {
  return readAny(bytes === undefined ? [] : fromBinary(StatusSchema, bytes).details);
}

/** Reads the details of a Connect error: type names, and values in base64 without padding. */
export function readConnectDetails(details: readonly { readonly type: string; readonly value: string }[]): Details {
  return readAny(
    details.map(({ type, value }) => create(AnySchema, { typeUrl: `type.googleapis.com/${type}`, value: Buffer.from(value, "base64") })),
  );
}

function readAny(details: readonly Any[]): Details {
  const [info] = details.flatMap((any) => anyUnpack(any, ErrorInfoSchema) ?? []);
  const [bad] = details.flatMap((any) => anyUnpack(any, BadRequestSchema) ?? []);
  return {
    reason: info?.reason,
    domain: info?.domain,
    metadata: info?.metadata ?? {},
    violations: bad?.fieldViolations.map(({ field }) => field) ?? [],
  };
}
