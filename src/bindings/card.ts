/** The agent card at its well-known path. */
import { type AgentCard, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { jsonText } from "../rpc/json-output.ts";
import type { HttpHandler } from "./http-exchange.ts";
import { publish } from "./published.ts";

/** Where every A2A agent has its card. */
const CARD_PATH = "/.well-known/agent-card.json";

/** Serves the card. */
export function cardHandler(card: () => AgentCard, maxAgeSeconds: number): HttpHandler {
  return publish({ path: CARD_PATH, source: card, json: (now) => jsonText(AgentCardSchema, now), maxAgeSeconds });
}
