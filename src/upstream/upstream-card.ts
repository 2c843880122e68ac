/** The upstream's card: where it is found, and what of it our card keeps. */
import { create } from "@bufbuild/protobuf";
import { type AgentCard, type AgentInterface, AgentInterfaceSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { AgentCardInit } from "../core/agent.ts";
import { A2AClient, A2AError, type CardInput, type ClientOptionsInput } from "../client/index.ts";
import type { UpstreamOptions } from "./upstream-options.ts";

/** Extensions that every server of this project declares by itself. */
const OURS: ReadonlySet<string> = new Set(["urn:throughline:a2a:log:v1", "urn:throughline:a2a:idempotent-send:v1"]);

/** `host:port`: an agent of which only its gRPC port may be known. */
const HOST_AND_PORT = /^(\[[0-9a-f:]+\]|[a-z0-9.-]+):\d{1,5}$/i;

/**
 * A client of the upstream. At a `host:port` the card is looked for over HTTP; where there is none it is taken for the gRPC port of an agent
 * that streams, and asked whether it is one. Throws A2AError where nothing answers.
 */
export async function connectUpstream(upstream: CardInput, options: ClientOptionsInput): Promise<A2AClient> {
  if (typeof upstream !== "string" || !HOST_AND_PORT.test(upstream)) return A2AClient.connect(upstream, options);
  try {
    return await A2AClient.connect(`http://${upstream}`, options);
  } catch (error) {
    if (!(error instanceof A2AError) || isRefused(error)) throw error;
    return connectGrpc(upstream, options);
  }
}

/** What a port says that does not speak gRPC, or not now; and one that speaks no A2A. */
const NOT_NOW: ReadonlySet<string> = new Set(["UNAVAILABLE", "UNKNOWN", "INTERNAL", "DEADLINE_EXCEEDED", "CANCELLED"]);
const NO_AGENT: ReadonlySet<string> = new Set([...NOT_NOW, "UNIMPLEMENTED"]);

async function connectGrpc(address: string, options: ClientOptionsInput): Promise<A2AClient> {
  const client = await A2AClient.connect(bareCard(address), options);
  try {
    // To those whom it knows an agent may say over gRPC, too, who it is.
    const card = await whatItSays(() => client.extendedCard());
    // One that has no such method has others.
    if (card === undefined) await whatItSays(() => client.getTask("00000000-0000-0000-0000-000000000000"), NO_AGENT);
    if (card === undefined) return client;
    await client.close();
    return await A2AClient.connect({ ...card, supportedInterfaces: interfacesOf(address) }, options);
  } catch (error) {
    await client.close();
    const why = error instanceof Error ? error.message : "";
    throw new A2AError(error, `at ${address} there is neither an agent card nor an agent that speaks A2A over gRPC (${why})`);
  }
}

/** The answer of a call; undefined where it is an error of an agent's, and none of those. */
async function whatItSays<T>(call: () => Promise<T>, others: ReadonlySet<string> = NOT_NOW): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof A2AError && !others.has(error.reason)) return undefined;
    throw error;
  }
}

function isRefused(error: A2AError): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const code = String((cause as NodeJS.ErrnoException).code);
    if (/^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|UND_ERR_CONNECT_TIMEOUT)$/.test(code)) return true;
  }
  return false;
}

function interfacesOf(address: string): AgentInterface[] {
  return [create(AgentInterfaceSchema, { protocolBinding: "GRPC", url: address, protocolVersion: "1.0" })];
}

function bareCard(address: string): CardInput {
  return {
    name: address,
    description: `The A2A agent at ${address}`,
    version: "unknown",
    capabilities: { streaming: true },
    defaultInputModes: ["*/*"],
    defaultOutputModes: ["*/*"],
    supportedInterfaces: interfacesOf(address),
  };
}

/**
 * What our card says of the agent: all that the upstream's says of what it does. Where it is reached, how it streams, takes webhooks and
 * is signed are ours; extensions are those that are handed on, and so is what it says of credentials.
 */
export function republished(card: AgentCard, options: Pick<UpstreamOptions, "extensions" | "forwardHeaders">): AgentCardInit {
  const { extensions } = options;
  const { supportedInterfaces: _interfaces, signatures: _signatures, $typeName: _name, $unknown: _unknown, ...own } = card;
  const kept = card.capabilities?.extensions.filter(({ uri }) => extensions.includes(uri) && !OURS.has(uri)) ?? [];
  const security = handedOn(card, options).length > 0 ? {} : { securitySchemes: {}, securityRequirements: [] };
  const capabilities = { streaming: true, extensions: kept, extendedAgentCard: card.capabilities?.extendedAgentCard === true };
  return { ...own, ...security, capabilities };
}

/** The header fields with callers' credentials that are handed on, of those in which the upstream takes them. */
export function handedOn({ securitySchemes }: AgentCard, { forwardHeaders }: Pick<UpstreamOptions, "forwardHeaders">): readonly string[] {
  const keys = Object.values(securitySchemes).flatMap(({ scheme }) =>
    scheme.case === "apiKeySecurityScheme" && scheme.value.location === "header" ? [scheme.value.name.toLowerCase()] : [],
  );
  const fields = new Set(["authorization", ...keys]);
  return forwardHeaders.filter((name) => fields.has(name));
}

/** Extensions that the upstream requires and nobody hands on: every call would be refused. */
export function missingExtensions(card: AgentCard, { extensions }: UpstreamOptions): readonly string[] {
  const required = card.capabilities?.extensions.filter(({ required: must }) => must) ?? [];
  return required.map(({ uri }) => uri).filter((uri) => !extensions.includes(uri));
}
