/** A service as grpc-js wants it described. */
import type { DescService } from "@bufbuild/protobuf";
import type { ServiceDefinition } from "@grpc/grpc-js";
import { asBuffer } from "../envelope.ts";

/** The methods of a service by their descriptors. Bytes pass: decoding has its own errors, encoding its own cache. */
export function definitionOf(desc: DescService): ServiceDefinition {
  const definition: Record<string, ServiceDefinition[string]> = {};
  for (const { name, methodKind } of desc.methods) {
    definition[name] = {
      path: `/${desc.typeName}/${name}`,
      requestStream: methodKind === "client_streaming" || methodKind === "bidi_streaming",
      responseStream: methodKind === "server_streaming" || methodKind === "bidi_streaming",
      requestSerialize: asBuffer,
      requestDeserialize: (bytes) => bytes,
      responseSerialize: asBuffer,
      responseDeserialize: (bytes) => bytes,
    };
  }
  return definition;
}
