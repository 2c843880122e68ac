/** The agent card at its well-known path. */
import { type AgentCard, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { jsonText } from "../rpc/json-output.ts";
import type { HttpHandler } from "./http-exchange.ts";
import { publish } from "./published.ts";

/** Where every A2A agent has its card. */
const CARD_PATH = "/.well-known/agent-card.json";

/**
 * Serves the card at its place on the host, and below each of `bases` as well: callers that are given the URL of an interface look for it
 * below that.
 */
export function cardHandler(card: () => AgentCard, bases: readonly string[], maxAgeSeconds: number): HttpHandler {
  const paths = ["", ...bases].map((base) => `${base}${CARD_PATH}`);
  return publish({ paths, source: card, json: (now) => jsonText(AgentCardSchema, now), maxAgeSeconds });
}
