/** Errors that a server tells, as ConnectErrors: whatever the binding, they explain themselves by the details of `google.rpc`. */
import { create, type DescMessage, type Message } from "@bufbuild/protobuf";
import { type Any, anyUnpack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import type { Violation } from "../core/errors.ts";
import { A2A_DOMAIN, DETAIL_SCHEMAS, knownReason } from "./errors.ts";

/** What was read of an error, in whatever form it came. */
export interface PeerError {
  readonly message: string;
  /** What the server says by its code. */
  readonly code: Code;
  /** Details of `google.rpc`, an ErrorInfo among them where the server gave one. */
  readonly details: readonly { readonly desc: DescMessage; readonly value: Message }[];
  /** What a number or a URI of the server means, where it gave no ErrorInfo; then the code is that of the reason. */
  readonly reason?: string | undefined;
  /** Facts that go with {@link PeerError.reason}. */
  readonly facts?: Readonly<Record<string, string>>;
  readonly violations?: readonly Violation[];
  /** Headers and trailers of the reply, `retry-after` among them. */
  readonly metadata: Headers;
}

/** Makes the ConnectError. */
export function peerError({ message, code, details, reason, facts = {}, violations = [], metadata }: PeerError): ConnectError {
  const all = [...details];
  const isExplained = details.some(({ desc }) => desc.typeName === ErrorInfoSchema.typeName);
  const meant = isExplained || reason === undefined ? undefined : knownReason(reason);
  if (meant !== undefined) {
    // Only A2A's own reasons mean the same everywhere.
    const domain = meant.domain === A2A_DOMAIN ? A2A_DOMAIN : "";
    const info = create(ErrorInfoSchema, { reason: reason as string, domain, metadata: facts });
    all.push({ desc: ErrorInfoSchema, value: info });
  }
  if (violations.length > 0) {
    const fieldViolations = violations.map(({ field, description }) => ({ field, description }));
    all.push({ desc: BadRequestSchema, value: create(BadRequestSchema, { fieldViolations }) });
  }
  const error = new ConnectError(message, meant?.code ?? code, undefined, all);
  for (const [name, value] of metadata) error.metadata.set(name, value);
  return error;
}

/** The details that are known among those of a binary status. */
export function unpackDetails(details: readonly Any[]): { desc: DescMessage; value: Message }[] {
  return details.flatMap((any) => {
    const desc = DETAIL_SCHEMAS.find(({ typeName }) => any.typeUrl === typeName || any.typeUrl.endsWith(`/${typeName}`));
    const value = desc && anyUnpackSafely(any, desc);
    return desc === undefined || value === undefined ? [] : [{ desc, value }];
  });
}

/** A detail that cannot be read is none: the error itself is worth more. */
function anyUnpackSafely(any: Any, desc: DescMessage): Message | undefined {
  try {
    return anyUnpack(any, desc);
  } catch {
    return undefined;
  }
}

/** The code of a number of gRPC's, UNKNOWN for what is none. */
export function codeOfNumber(code: number): Code {
  return Code[code] === undefined ? Code.Unknown : code;
}
