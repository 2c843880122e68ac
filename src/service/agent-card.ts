/** The public card: the agent's own part, and what the server adds to it. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  AgentCapabilitiesSchema,
  type AgentCard,
  AgentCardSchema,
  type AgentExtension,
  AgentExtensionSchema,
  AgentInterfaceSchema,
  SecurityRequirementSchema,
  SecuritySchemeSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { AgentCardInit } from "../core/agent.ts";
import { LOG_URI } from "./log-extension.ts";
import type { ServiceOptions } from "./options.ts";
import { PROTOCOL_VERSION } from "../rpc/version.ts";

/** Where the ports can be reached from outside. */
export interface PublicUrls {
  /** host:port (C-48). */
  readonly grpc: string;
  readonly http: string;
  /** Path before the HTTP+JSON routes. */
  readonly restPrefix: string;
}

/** Kinds of schemes whose requirements list scopes. */
const SCOPED: ReadonlySet<string> = new Set(["oauth2SecurityScheme", "openIdConnectSecurityScheme"]);

/** URI of the extension that tells how repeated sends are treated. */
const IDEMPOTENT_SEND_URI = "urn:throughline:a2a:idempotent-send:v1";

/**
 * The card as it is served: streaming is on unless the agent's card turns it off; what is not served is off whatever the card
 * says. `extended`: callers who are known may ask for the extended card.
 */
export function publicCard(own: AgentCardInit, { dedupe, push }: Pick<ServiceOptions, "dedupe" | "push">, extended: boolean): AgentCard {
  const card = create(AgentCardSchema, own);
  const capabilities = create(AgentCapabilitiesSchema, own.capabilities ?? {});
  capabilities.streaming ??= true;
  capabilities.extensions = [...capabilities.extensions, idempotentSend(dedupe), ...(capabilities.streaming ? [logPositions()] : [])];
  capabilities.pushNotifications = push.enabled;
  capabilities.extendedAgentCard = extended;
  card.capabilities = capabilities;
  return card;
}

/**
 * Says how callers authenticate: by any one of the schemes, in the place of what the agent's own card says of that.
 * `scopes` are those that no operation goes without; tokens of OAuth are to have them.
 */
export function declareSchemes(
  card: AgentCard,
  declared: Readonly<Record<string, MessageInitShape<typeof SecuritySchemeSchema>>>,
  scopes: readonly string[],
): void {
  const schemes = Object.entries(declared).map(([name, init]) => [name, create(SecuritySchemeSchema, init)] as const);
  card.securitySchemes = Object.fromEntries(schemes);
  card.securityRequirements = schemes.map(([name, { scheme }]) => {
    const list = SCOPED.has(scheme.case ?? "") ? [...scopes] : [];
    return create(SecurityRequirementSchema, { schemes: { [name]: { list } } });
  });
}

function idempotentSend({ mode, windowMs }: ServiceOptions["dedupe"]): AgentExtension {
  const params = { mode, ...(mode === "window" && { windowMs }) };
  const description = "A send that repeats messageId and content is answered with the task of the first one.";
  return create(AgentExtensionSchema, { uri: IDEMPOTENT_SEND_URI, description, required: false, params });
}

function logPositions(): AgentExtension {
  const description = "Every frame of a stream says its position; SubscribeToTask with Last-Event-ID goes on after it.";
  return create(AgentExtensionSchema, { uri: LOG_URI, description, required: false });
}

/** Writes the interfaces into the card, the preferred one first. */
export function nameInterfaces(card: AgentCard, { grpc, http, restPrefix }: PublicUrls): void {
  const base = http.replace(/\/$/, "");
  const interfaces = [
    ["GRPC", grpc],
    ["HTTP+JSON", `${base}${restPrefix}`],
    ["JSONRPC", `${base}/jsonrpc`],
  ] as const;
  card.supportedInterfaces = interfaces.map(([protocolBinding, url]) =>
    create(AgentInterfaceSchema, { protocolBinding, url, protocolVersion: PROTOCOL_VERSION }),
  );
}

/** The URL at which callers reach the server over HTTP, once its card says so; empty before. */
export function httpUrlOf({ supportedInterfaces }: AgentCard): string {
  const { url = "" } = supportedInterfaces.find(({ protocolBinding }) => protocolBinding === "JSONRPC") ?? {};
  return url.replace(/\/jsonrpc$/, "");
}
