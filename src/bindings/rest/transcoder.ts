/** HTTP requests to request messages and responses to HTTP bodies, as google/api/http.proto lays down. No method is known here. */
import {
  clone,
  create,
  type DescField,
  type DescMessage,
  equals,
  type JsonObject,
  type JsonValue,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import { reflect, type ReflectMessage } from "@bufbuild/protobuf/reflect";
import { invalidFields, parseJsonInput } from "../../rpc/json-input.ts";
import { decodeJsonText, parseJsonText } from "../../rpc/json-text.ts";
import { REQUEST_BOUNDS, type RequestBounds } from "../../rpc/request-bounds.ts";
import { decodeEscapes } from "./path-template.ts";
import { jsonPath, readQuery, setJson } from "./query.ts";
import type { Route, RouteMatch, RouteVariable } from "./routes.ts";

/** What {@link transcode} takes besides the request. */
export interface TranscodeOptions {
  /** Default {@link REQUEST_BOUNDS}. */
  readonly bounds?: RequestBounds;
  /**
   * What happens where the path and the body or the query give the same field different values (C-53, C-54): the path's value is taken
   * silently, or INVALID_ARGUMENT names the field. Default `path-wins`, which is what http.proto says.
   */
  readonly onConflict?: "path-wins" | "refuse";
}

/**
 * Binds a request to its message: the body first, then the query where the body is not the whole request, then the path. `query` comes
 * without `?`. An absent, blank or `null` body is `{}` (C-54); where the rule maps no body, it is ignored. Throws PARSE_ERROR for a body
 * that is not JSON and INVALID_ARGUMENT, naming the fields, for one that does not fit.
 */
export function transcode(
  match: RouteMatch,
  query: string,
  body: string | Uint8Array | undefined,
  options: TranscodeOptions = {},
): Message {
  const { route } = match;
  const { input } = route.method;
  const { bounds = REQUEST_BOUNDS } = options;
  const read = (json: JsonValue): Message => parseJsonInput(input, json, "", { maxDepth: bounds.depth });
  const refuse = options.onConflict === "refuse";
  const inPath = (fields: readonly DescField[]): boolean =>
    route.variables.some(
      (variable) => variable.fields.length === fields.length && variable.fields.every((field, at) => field === fields[at]),
    );
  const path = read(pathJson(match));
  const bodyJson = route.body === "none" ? undefined : parseBody(body, bounds);

  if (route.body === "whole") {
    const message = read(bodyJson ?? {});
    // The query is no part of such a request, but it must not contradict the path either.
    const stray = refuse ? read(readQuery(input, query, inPath)) : create(input);
    return bindPath(route, message, path, refuse ? [message, stray] : []);
  }
  const json = readQuery(input, query, (fields) => fields[0] !== route.body && (refuse || !inPath(fields)));
  if (route.body !== "none" && bodyJson !== undefined) json[route.body.jsonName] = bodyJson;
  const message = read(json);
  return bindPath(route, message, path, refuse ? [message] : []);
}

/** An answer's body. */
export interface EncodedResponse {
  /** The type that the response itself names; undefined for JSON, whose name is the caller's to choose. */
  readonly contentType: string | undefined;
  readonly body: string | Uint8Array;
}

/**
 * Encodes a response, or the field of it that the rule calls the body; such a field is there even when unset (`[]`, `""`, `null`). A
 * google.api.HttpBody is answered as the bytes it holds. `encode` writes the JSON of the response. Default: protobuf's own.
 */
export function encodeResponse(
  route: Route,
  response: Message,
  encode: (desc: DescMessage, message: Message) => JsonValue = toJson,
): EncodedResponse {
  const { output } = route.method;
  const field = route.responseBody;
  const desc = field === undefined ? output : field.fieldKind === "message" ? field.message : undefined;
  if (desc?.typeName === "google.api.HttpBody") {
    const whole = reflect(output, response);
    return httpBody(field === undefined ? whole : (whole.get(field) as ReflectMessage));
  }
  let json = encode(output, response);
  if (field !== undefined) json = (json as JsonObject)[field.jsonName] ?? unsetJson(output, field);
  return { contentType: undefined, body: JSON.stringify(json) };
}

function httpBody(message: ReflectMessage): EncodedResponse {
  const valueOf = (number: number): unknown => {
    const field = message.findNumber(number);
    return field && message.get(field);
  };
  return { contentType: String(valueOf(1)), body: valueOf(2) as Uint8Array };
}

function unsetJson(desc: DescMessage, field: DescField): JsonValue {
  const json = toJson(desc, create(desc), { alwaysEmitImplicit: true }) as JsonObject;
  return json[field.jsonName] ?? null;
}

function pathJson({ route, captures }: RouteMatch): JsonObject {
  const json: JsonObject = {};
  for (const [index, variable] of route.variables.entries()) {
    const text = captureText(variable, captures[index] ?? []);
    if (text === undefined) throw invalidFields([{ field: jsonPath(variable.fields), description: "must be percent-encoded UTF-8" }]);
    setJson(json, variable.fields, [text]);
  }
  return json;
}

/** Decoded once. Where a variable spans segments an encoded slash stays encoded, to be told from those between them. */
function captureText(variable: RouteVariable, segments: readonly string[]): string | undefined {
  const texts = segments.map((segment) => (variable.single ? decodeEscapes(segment) : decodeButSlashes(segment)));
  return texts.includes(undefined) ? undefined : texts.join("/");
}

function decodeButSlashes(segment: string): string | undefined {
  const texts = segment.split(/(%2f)/i).map((text, index) => (index % 2 === 1 ? text : decodeEscapes(text)));
  return texts.includes(undefined) ? undefined : texts.join("");
}

/** The JSON of a body; undefined where there is none. */
function parseBody(body: string | Uint8Array | undefined, bounds: RequestBounds): JsonValue | undefined {
  const text = body instanceof Uint8Array ? decodeJsonText(body, bounds) : (body ?? "");
  return text.trim() === "" ? undefined : parseJsonText(text);
}

/** Sets what the path says in the message. Throws INVALID_ARGUMENT for what one of the `rivals` says otherwise. */
function bindPath(route: Route, message: Message, path: Message, rivals: readonly Message[]): Message {
  const { input } = route.method;
  const source = reflect(input, path);
  const violations = route.variables
    .filter(({ fields }) => rivals.some((rival) => contradicts(input, rival, source, fields)))
    .map(({ fields }) => ({ field: jsonPath(fields), description: "must be what the path says, or be left out" }));
  if (violations.length > 0) throw invalidFields(violations);
  for (const { fields } of route.variables) graft(reflect(input, message), source, fields);
  return message;
}

/** Whether the path would change a value that the rival sets. A value that counts as unset, such as "", contradicts nothing. */
function contradicts(desc: DescMessage, rival: Message, source: ReflectMessage, fields: readonly DescField[]): boolean {
  if (!isSet(reflect(desc, rival), fields)) return false;
  const bound = clone(desc, rival);
  graft(reflect(desc, bound), source, fields);
  return !equals(desc, rival, bound);
}

/** Whether the field, or another member of its oneof, is set. */
function isSet(message: ReflectMessage, [field, ...rest]: readonly DescField[]): boolean {
  if (field === undefined) return true;
  if (rest.length > 0) return message.isSet(field) && isSet(message.get(field) as ReflectMessage, rest);
  return field.oneof === undefined ? message.isSet(field) : message.oneofCase(field.oneof) !== undefined;
}

function graft(target: ReflectMessage, source: ReflectMessage, [field, ...rest]: readonly DescField[]): void {
  if (field === undefined) return;
  if (rest.length === 0) {
    target.set(field, source.get(field));
    return;
  }
  const child = target.get(field) as ReflectMessage;
  graft(child, source.get(field) as ReflectMessage, rest);
  target.set(field, child);
}
