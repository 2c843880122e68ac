/** A card whose interfaces are reached elsewhere. */
import { clone } from "@bufbuild/protobuf";
import { type AgentCard, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { ClientBinding } from "../../src/client/client-options.ts";

/** The card with the interface of one binding, or all for Connect, at another port of this machine. */
export function resolveCard(card: AgentCard, binding: ClientBinding, port: number): AgentCard {
  const copy = clone(AgentCardSchema, card);
  for (const one of copy.supportedInterfaces) {
    if (binding === "CONNECT" ? one.protocolBinding !== "GRPC" : one.protocolBinding === binding) {
      one.url = one.url.replace(/:\d+/, `:${port}`);
    }
  }
  return copy;
}
