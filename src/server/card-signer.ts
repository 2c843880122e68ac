/** Signs agent cards, the public one and those for callers. */
import { create } from "@bufbuild/protobuf";
import { type AgentCard, AgentCardSignatureSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { cardPayloads } from "../rpc/card-payloads.ts";
import type { SigningKeys } from "./signing-keys.ts";

/** Where a server publishes its keys, below its URL. */
export const JWKS_PATH = "/.well-known/jwks.json";

/** Puts signatures into a card: of each key, over each text that those who verify may make of it. */
export async function signCard(card: AgentCard, keys: SigningKeys, jku: string | undefined): Promise<void> {
  const signed = await Promise.all(cardPayloads(card).map((payload) => keys.signDetached(payload, jku)));
  card.signatures = signed.flat().map((signature) => create(AgentCardSignatureSchema, signature));
}
