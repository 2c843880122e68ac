/** The OpenAPI 3.1 document of HTTP+JSON, made from the routes, the schema and the card. */
import type { DescService, JsonObject } from "@bufbuild/protobuf";
import type { AgentCard } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { TASK_ID_HEADER } from "../../rpc/call-facts.ts";
import { EXTENSIONS_HEADER } from "../../rpc/extensions.ts";
import { TENANT_HEADER } from "../../rpc/tenant.ts";
import { PROTOCOL_VERSION, VERSION_HEADER } from "../../rpc/version.ts";
import type { Route } from "../rest/routes.ts";
import type { Comments } from "./comments.ts";
import { errorResponses, errorSchema } from "./errors.ts";
import { operationOf, type OperationParts, pathOf } from "./operation.ts";
import { described, Schemas } from "./schemas.ts";
import { securityRequirements, securitySchemes } from "./security.ts";

/** What a document is made from. */
export interface DocumentInit {
  readonly service: DescService;
  /** All that is served, without the prefix that the server's URL has. */
  readonly routes: readonly Route[];
  readonly card: AgentCard;
  readonly comments: Comments;
  /** Whether calls may name a tenant. */
  readonly tenants: boolean;
  /** Whether calls must name their version. */
  readonly versionRequired: boolean;
}

/** The document. It says what is served, and nothing that the card does not say to everybody as well. */
export function openApiDocument(init: DocumentInit): JsonObject {
  const { service, card, comments, tenants } = init;
  const inputs = new Set(service.methods.map(({ input }) => input));
  const hidden: OperationParts["hidden"] = (field) => !tenants && field.name === "tenant" && inputs.has(field.parent);
  const schemas = new Schemas(service.file.proto.package, comments, hidden);
  const errors = errorResponses();
  const parameters = headerParameters(init);
  const headers = { all: Object.keys(parameters).filter((name) => name !== RESUME), streams: [RESUME] };
  const replyHeaders = replyHeadersOf();
  const parts: OperationParts = { schemas, comments, hidden, errors, headers, replyHeaders: Object.keys(replyHeaders) };
  const paths = pathsOf(init.routes, parts);
  const error = errorSchema(schemas);
  return {
    openapi: "3.1.1",
    info: infoOf(card),
    servers: card.supportedInterfaces.filter(({ protocolBinding }) => protocolBinding === "HTTP+JSON").map(({ url }) => ({ url })),
    security: securityRequirements(card),
    tags: [{ name: service.name, ...described(comments(service)) }],
    ...(card.documentationUrl !== undefined && { externalDocs: { url: card.documentationUrl } }),
    paths,
    components: {
      schemas: { ...schemas.components, Error: error },
      parameters,
      headers: replyHeaders,
      responses: errors,
      securitySchemes: securitySchemes(card),
    },
  };
}

function infoOf({ name, version, description, provider }: AgentCard): JsonObject {
  const contact = provider === undefined ? {} : { contact: { name: provider.organization, url: provider.url } };
  return { title: name, version, ...described(description), ...contact };
}

/** Throws where two routes would have the same place or the same name. */
function pathsOf(routes: readonly Route[], parts: OperationParts): JsonObject {
  const paths = new Map<string, Map<string, JsonObject>>();
  const names = new Set<string>();
  for (const route of routes) {
    const first = routes.find(({ method }) => method === route.method) ?? route;
    const operation = operationOf(route, first, parts);
    const [path, verb] = [pathOf(route), route.binding.method.toLowerCase()];
    const item = paths.get(path) ?? new Map<string, JsonObject>();
    const name = operation["operationId"] as string;
    if (item.has(verb) || names.has(name)) throw new Error(`${path}: ${verb} or ${name} is there already`);
    names.add(name);
    paths.set(path, item.set(verb, operation));
  }
  return Object.fromEntries([...paths].map(([path, item]) => [path, Object.fromEntries(item)]));
}

const RESUME = "last-event-id";

function headerParameters({ card, tenants, versionRequired }: DocumentInit): JsonObject {
  const extensions = card.capabilities?.extensions ?? [];
  const declared = extensions.map(({ uri, description }) => `\n- \`${uri}\`: ${description}`).join("");
  const parameters: { name: string; description: string; required?: boolean; schema: JsonObject }[] = [
    {
      name: VERSION_HEADER,
      description: "Version of A2A that the call is made in. It may stand in the query instead.",
      required: versionRequired,
      schema: { type: "string", enum: [PROTOCOL_VERSION] },
    },
    {
      name: EXTENSIONS_HEADER,
      description: `URIs of extensions that the call activates, of those that the card declares:${declared}`,
      required: extensions.some(({ required }) => required),
      schema: { type: "array", items: { type: "string" } },
    },
    {
      name: RESUME,
      description: "Position to go on after, where an extension is active that gives positions.",
      schema: { type: "string" },
    },
  ];
  if (tenants)
    parameters.push({
      name: TENANT_HEADER,
      description: "Tenant that the call is for, beside path and field.",
      schema: { type: "string" },
    });
  return Object.fromEntries(parameters.map((parameter) => [parameter.name, { ...parameter, in: "header" }]));
}

function replyHeadersOf(): JsonObject {
  return {
    [EXTENSIONS_HEADER]: { description: "URIs of the extensions that are active.", schema: { type: "array", items: { type: "string" } } },
    [TASK_ID_HEADER]: { description: "The task that a send began or a stream follows.", schema: { type: "string" } },
  };
}
