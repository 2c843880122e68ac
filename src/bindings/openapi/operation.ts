/** A route of HTTP+JSON as an OpenAPI operation. */
import type { DescField, DescMessage, JsonObject } from "@bufbuild/protobuf";
import { isParent, isTextual } from "../rest/parameter.ts";
import { jsonPath } from "../rest/query.ts";
import type { Route } from "../rest/routes.ts";
import type { Comments } from "./comments.ts";
import { errorReferences } from "./errors.ts";
import { described, type Hidden, isRequired, type Schemas } from "./schemas.ts";

/** What the operations of a document have in common. */
export interface OperationParts {
  readonly schemas: Schemas;
  readonly comments: Comments;
  /** Fields that callers are not told of. */
  readonly hidden: Hidden;
  /** The error responses of the document, by status. */
  readonly errors: JsonObject;
  /** Names of the header parameters that every operation takes, and of those that only streams take. */
  readonly headers: { readonly all: readonly string[]; readonly streams: readonly string[] };
  /** Names of the headers of every success. */
  readonly replyHeaders: readonly string[];
}

/** C-09: both forms of JSON are taken and given. */
const JSON_TYPES = ["application/a2a+json", "application/json"];

/** The path of a route as OpenAPI writes it: variables by their names in JSON. */
export function pathOf({ path, variables }: Route): string {
  const written: string[] = [];
  for (let at = 0; at < path.segments.length; at += 1) {
    const variable = variables.find(({ start }) => start === at);
    const segment = path.segments[at];
    if (variable === undefined) written.push(segment?.kind === "literal" ? encodeURIComponent(segment.text) : "*");
    else {
      written.push(`{${jsonPath(variable.fields)}}`);
      at = (variable.end ?? path.segments.length) - 1;
    }
  }
  return `/${written.join("/")}${path.verb === "" ? "" : `:${path.verb}`}`;
}

/** A route, given the first one of its method. */
export function operationOf(route: Route, first: Route, parts: OperationParts): JsonObject {
  const { method } = route;
  const comment = parts.comments(method);
  const summary = firstSentence(comment) || method.name;
  const streams = method.methodKind === "server_streaming";
  const body = requestBody(route, parts);
  const headers = [...parts.headers.all, ...(streams ? parts.headers.streams : [])];
  return {
    operationId: operationId(route, first),
    tags: [method.parent.name],
    summary,
    ...(comment !== summary && described(comment)),
    parameters: [
      ...route.variables.map(({ fields }) => parameter("path", fields, parts.schemas)),
      ...queryFields(route, parts.hidden).map((fields) => parameter("query", fields, parts.schemas)),
      ...headers.map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ],
    ...(body !== undefined && { requestBody: body }),
    responses: {
      "200": streams ? streamResponse(route, parts) : response(route, parts),
      ...errorReferences(parts.errors, { hasBody: body !== undefined }),
    },
  };
}

/** The method's name, and what tells this route from the method's first one: `SubscribeToTaskWithTenantByPost`. */
function operationId({ method, variables, binding }: Route, first: Route): string {
  const known = new Set(first.variables.map(({ fields }) => jsonPath(fields)));
  const added = variables.map(({ fields }) => jsonPath(fields)).filter((name) => !known.has(name));
  const where = added.length === 0 ? "" : `With${added.map(capitalized).join("And")}`;
  return `${method.name}${where}${binding.method === first.binding.method ? "" : `By${capitalized(binding.method.toLowerCase())}`}`;
}

function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

function firstSentence(text: string): string {
  return /^.*?[.!?](?=\s|$)/.exec(text)?.[0] ?? text;
}

function parameter(place: "path" | "query", fields: readonly DescField[], schemas: Schemas): JsonObject {
  const field = fields.at(-1) as DescField;
  const { description, deprecated, ...schema } = schemas.field(field);
  return {
    name: jsonPath(fields),
    in: place,
    ...(description !== undefined && { description }),
    ...(deprecated !== undefined && { deprecated }),
    ...((place === "path" || (fields.length === 1 && isRequired(field))) && { required: true }),
    schema,
  };
}

/** The fields that a query may give: those that neither the path nor the body holds, nested ones by their paths. */
function queryFields({ method, variables, body }: Route, hidden: Hidden): DescField[][] {
  if (body === "whole") return [];
  const bound = new Set(variables.map(({ fields }) => jsonPath(fields)));
  const below = (desc: DescMessage, above: readonly DescField[]): DescField[][] =>
    desc.fields.flatMap((field) => {
      const fields = [...above, field];
      if (bound.has(jsonPath(fields)) || fields[0] === body || hidden(field)) return [];
      // Messages may hold themselves.
      if (isParent(field)) return above.some(({ message }) => message === field.message) ? [] : below(field.message, fields);
      return field.fieldKind !== "map" && isTextual(field) ? [fields] : [];
    });
  return below(method.input, []);
}

function requestBody(route: Route, { schemas }: OperationParts): JsonObject | undefined {
  const { body, method, variables } = route;
  if (body === "none") return undefined;
  if (body !== "whole") return { content: json(schemas.field(body)), required: isRequired(body) };
  const bound = variables.flatMap(({ fields: [field, ...more] }) => (field === undefined || more.length > 0 ? [] : [field]));
  const required = method.input.fields.some((field) => isRequired(field) && !bound.includes(field));
  // A field that the path gives may be left out of the body, and there only.
  const schema = bound.some(isRequired) ? schemas.object(method.input, bound) : schemas.message(method.input);
  return { content: json(schema), required };
}

function response({ method, responseBody }: Route, { schemas, replyHeaders }: OperationParts): JsonObject {
  const schema = responseBody === undefined ? schemas.message(method.output) : schemas.field(responseBody);
  return { description: "Done.", headers: headerReferences(replyHeaders), content: json(schema) };
}

function streamResponse({ method }: Route, { schemas, replyHeaders }: OperationParts): JsonObject {
  const schema = { oneOf: [schemas.message(method.output), { $ref: "#/components/schemas/Error" }] };
  return {
    description:
      "Server-sent events. The data of each is JSON, as the schema says; an error is the last one. Lines that begin with a colon mean nothing.",
    headers: headerReferences(replyHeaders),
    content: { "text/event-stream": { schema } },
  };
}

function json(schema: JsonObject): JsonObject {
  return Object.fromEntries(JSON_TYPES.map((type) => [type, { schema }]));
}

function headerReferences(names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
