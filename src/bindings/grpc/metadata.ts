/** Headers as gRPC's metadata, and back. */
import { Metadata } from "@grpc/grpc-js";
import type { PlainHeaders } from "../plain-headers.ts";
import { unfit } from "../request-headers.ts";

/** Where the status of a call is spelled out; it is read, and no header of the caller's. */
export const STATUS_DETAILS = "grpc-status-details-bin";

const NAME = /^[0-9a-z_.-]+$/;
const VALUE = /^[\u0020-\u007e]*$/;

/**
 * Headers as metadata; values of names that end in `-bin` are base64, as Connect has them. Throws INVALID_ARGUMENT for one that metadata
 * cannot hold.
 */
export function metadataOf(headers: Headers): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of headers) {
    const isBinary = name.endsWith("-bin");
    if (!NAME.test(name)) throw unfit(name, "has a name that gRPC does not carry");
    if (!isBinary && !VALUE.test(value)) throw unfit(name, "has characters that gRPC does not carry: right are those of ASCII");
    metadata.set(name, isBinary ? Buffer.from(value, "base64") : value);
  }
  return metadata;
}

/** Adds metadata to headers. */
export function addMetadata(headers: PlainHeaders, metadata: Metadata): void {
  for (const name of Object.keys(metadata.getMap())) {
    if (name === STATUS_DETAILS) continue;
    for (const value of metadata.get(name)) headers.append(name, typeof value === "string" ? value : value.toString("base64"));
  }
}
