/** GetExtendedAgentCard: what callers who are known are told of the agent. */
import type { HandlerContext } from "@connectrpc/connect";
import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { CardReader } from "../core/agent.ts";
import { TaskError } from "../core/errors.ts";
import { ANONYMOUS } from "../core/scope.ts";
import { publicCard } from "./agent-card.ts";
import type { ServiceInit } from "./service-init.ts";

/** How long a caller may keep the card; nobody in between may. */
const CACHE_CONTROL = "private, max-age=300";

/** The card for this caller, with what the server adds to every card. */
export async function extendedCard(
  { agent, card, options, signCard }: Pick<ServiceInit, "agent" | "card" | "options" | "signCard">,
  reader: CardReader,
  context: HandlerContext,
): Promise<AgentCard> {
  if (card.capabilities?.extendedAgentCard !== true) throw new TaskError("UNSUPPORTED_OPERATION", "this agent has no extended card");
  if (reader.principal === ANONYMOUS) throw new TaskError("UNAUTHENTICATED", "the extended card is for callers with credentials");
  const own = await agent.extendedCard?.(reader);
  if (own === undefined) throw new TaskError("EXTENDED_AGENT_CARD_NOT_CONFIGURED", "there is no extended card for this caller");
  const extended = publicCard(own, options, true);
  extended.supportedInterfaces = card.supportedInterfaces;
  // Callers authenticate as the public card says, whatever the agent says here.
  if (Object.keys(card.securitySchemes).length > 0 || Object.keys(extended.securitySchemes).length === 0) {
    extended.securitySchemes = card.securitySchemes;
    extended.securityRequirements = card.securityRequirements;
  }
  await signCard?.(extended);
  context.responseHeader.set("cache-control", CACHE_CONTROL);
  return extended;
}
