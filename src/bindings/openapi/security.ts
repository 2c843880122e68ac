/** The ways to authenticate that a card names, as OpenAPI writes them. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { AgentCard, OAuthFlows, SecurityScheme } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { described } from "./schemas.ts";

/** The card's schemes by their names. */
export function securitySchemes({ securitySchemes: schemes }: AgentCard): JsonObject {
  return Object.fromEntries(Object.entries(schemes).flatMap(([name, scheme]) => schemeOf(scheme).map((one) => [name, one])));
}

/** The combinations of schemes that are enough; none where the card asks for nothing. */
export function securityRequirements({ securityRequirements: requirements }: AgentCard): JsonObject[] {
  return requirements.map(({ schemes }) => Object.fromEntries(Object.entries(schemes).map(([name, { list }]) => [name, list])));
}

/** One scheme; nothing where the card leaves open which it is. */
function schemeOf({ scheme }: SecurityScheme): JsonObject[] {
  if (scheme.case === undefined) return [];
  const about = described(scheme.value.description);
  switch (scheme.case) {
    case "apiKeySecurityScheme":
      return [{ type: "apiKey", ...about, in: scheme.value.location, name: scheme.value.name }];
    case "httpAuthSecurityScheme": {
      const { scheme: name, bearerFormat } = scheme.value;
      return [{ type: "http", ...about, scheme: name, ...(bearerFormat !== "" && { bearerFormat }) }];
    }
    case "oauth2SecurityScheme":
      return [{ type: "oauth2", ...about, flows: flowsOf(scheme.value.flows) }];
    case "openIdConnectSecurityScheme":
      return [{ type: "openIdConnect", ...about, openIdConnectUrl: scheme.value.openIdConnectUrl }];
    default:
      return [{ type: "mutualTLS", ...about }];
  }
}

function flowsOf(flows: OAuthFlows | undefined): JsonObject {
  const { case: kind, value } = flows?.flow ?? {};
  if (kind === undefined || value === undefined) return {};
  const { refreshUrl, scopes } = value;
  const shared = { ...(refreshUrl !== "" && { refreshUrl }), scopes };
  switch (kind) {
    case "authorizationCode":
      return { [kind]: { authorizationUrl: value.authorizationUrl, tokenUrl: value.tokenUrl, ...shared } };
    case "clientCredentials":
    case "password":
      return { [kind]: { tokenUrl: value.tokenUrl, ...shared } };
    case "implicit":
      return { [kind]: { authorizationUrl: value.authorizationUrl, ...shared } };
    default:
      // OpenAPI knows this flow from 3.2 on.
      return { "x-deviceCode": { deviceAuthorizationUrl: value.deviceAuthorizationUrl, tokenUrl: value.tokenUrl, ...shared } };
  }
}
