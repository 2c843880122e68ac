/** The upstream's card: where it is found, and what of it our card keeps. */
import type { AgentCard, AgentInterface } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { AgentCardInit } from "../core/agent.ts";
import { A2AClient, A2AError, type CardInput, type ClientOptionsInput } from "../client/index.ts";
import type { UpstreamOptions } from "./upstream-options.ts";

/** `host:port`: an agent of which only its gRPC port may be known. */
const HOST_AND_PORT = /^(\[[0-9a-f:]+\]|[a-z0-9.-]+):\d{1,5}$/i;

/**
 * A client of the upstream. At a `host:port` the card is looked for over HTTP; where nobody speaks HTTP there, or has a card, it is taken
 * for the gRPC port of an agent that streams. Throws A2AError where nothing answers.
 */
export async function connectUpstream(upstream: CardInput, client: ClientOptionsInput): Promise<A2AClient> {
  if (typeof upstream !== "string" || !HOST_AND_PORT.test(upstream)) return A2AClient.connect(upstream, client);
  try {
    return await A2AClient.connect(`http://${upstream}`, client);
  } catch (error) {
    if (!(error instanceof A2AError) || isRefused(error)) throw error;
    return A2AClient.connect(bareCard(upstream), client);
  }
}

function isRefused(error: A2AError): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (
      /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|UND_ERR_CONNECT_TIMEOUT/.test(String((cause as NodeJS.ErrnoException).code))
    )
      return true;
  }
  return false;
}

function bareCard(address: string): CardInput {
  return {
    name: address,
    description: `The A2A agent at ${address}`,
    version: "unknown",
    capabilities: { streaming: true },
    defaultInputModes: ["*/*"],
    defaultOutputModes: ["*/*"],
    supportedInterfaces: [{ protocolBinding: "GRPC", url: address, protocolVersion: "1.0" } satisfies Partial<AgentInterface>],
  };
}

/**
 * What our card says of the agent: all that the upstream's says of what it does. Where it is reached, how it streams, takes webhooks and
 * is signed are ours; extensions are those that are handed on, and so is what it says of credentials.
 */
export function republished(card: AgentCard, { extensions, keepSecurity }: UpstreamOptions): AgentCardInit {
  const { supportedInterfaces: _interfaces, signatures: _signatures, $typeName: _name, $unknown: _unknown, ...own } = card;
  const kept = card.capabilities?.extensions.filter(({ uri }) => extensions.includes(uri)) ?? [];
  const security = keepSecurity ? {} : { securitySchemes: {}, securityRequirements: [] };
  const capabilities = { streaming: true, extensions: kept, extendedAgentCard: card.capabilities?.extendedAgentCard === true };
  return { ...own, ...security, capabilities };
}

/** Extensions that the upstream requires and nobody hands on: every call would be refused. */
export function missingExtensions(card: AgentCard, { extensions }: UpstreamOptions): readonly string[] {
  const required = card.capabilities?.extensions.filter(({ required: must }) => must) ?? [];
  return required.map(({ uri }) => uri).filter((uri) => !extensions.includes(uri));
}
