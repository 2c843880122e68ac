/** Request messages to HTTP requests, as google/api/http.proto lays down: what the transcoder does, the other way round. */
import { type DescField, type DescMessage, type JsonObject, type JsonValue, type Message, toJson } from "@bufbuild/protobuf";
import { invalidFields } from "../../rpc/json-input.ts";
import { isParent, isTextual } from "./parameter.ts";
import { jsonPath } from "./query.ts";
import type { Route, RouteVariable } from "./routes.ts";

/** An HTTP request, without its headers. */
export interface RestRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** JSON; undefined where the rule has no body. */
  readonly body: string | undefined;
}

/**
 * Fields of the path go there, the body takes what the rule says, and all else is the query. Throws INVALID_ARGUMENT where a field of the
 * path is unset, or a field has no place: one that cannot be written as text and has no body to go to.
 */
export function encodeRequest(route: Route, request: Message): RestRequest {
  const { method, binding, path, variables } = route;
  const json = toJson(method.input, request) as JsonObject;
  const texts = new Map(variables.map((variable) => [variable.start, { variable, text: take(json, variable.fields) }]));
  const parts: string[] = [];
  for (let at = 0; at < path.segments.length; at++) {
    const found = texts.get(at);
    const segment = path.segments[at];
    if (found !== undefined) {
      parts.push(variableText(found.variable, found.text));
      at = (found.variable.end ?? path.segments.length) - 1;
    } else if (segment?.kind === "literal") parts.push(encodeURIComponent(segment.text));
    else throw new TypeError(`${binding.template}: a wildcard that binds no field cannot be filled in`);
  }
  const verb = path.verb === "" ? "" : `:${encodeURIComponent(path.verb)}`;
  const pathname = `/${parts.join("/")}${verb}`;
  if (route.body === "whole") return { method: binding.method, target: pathname, body: JSON.stringify(json) };
  const body = route.body === "none" ? undefined : JSON.stringify(json[route.body.jsonName] ?? {});
  if (route.body !== "none") delete json[route.body.jsonName];
  const query = [...parameters(method.input, json, [])].map((pair) => pair.map(encodeURIComponent).join("=")).join("&");
  return { method: binding.method, target: query === "" ? pathname : `${pathname}?${query}`, body };
}

/** Takes a field out of the JSON; empty where it is unset. */
function take(json: JsonObject, fields: readonly DescField[]): string {
  let parent = json;
  for (const [index, { jsonName }] of fields.entries()) {
    const value = parent[jsonName];
    if (value === undefined) return "";
    if (index === fields.length - 1) {
      delete parent[jsonName];
      return textOf(value);
    }
    parent = value as JsonObject;
  }
  return "";
}

/** Every escape is decoded where a variable is one segment; where it spans several, the slashes between them stay. */
function variableText({ fields, single }: RouteVariable, text: string): string {
  if (text === "") throw invalidFields([{ field: jsonPath(fields), description: "is required: it is part of the path" }]);
  return single ? encodeSegment(text) : text.split("/").map(encodeSegment).join("/");
}

/** Dots alone would be taken for steps in the path by whatever is on the way. */
function encodeSegment(text: string): string {
  return /^\.+$/.test(text) ? text.replaceAll(".", "%2E") : encodeURIComponent(text);
}

function* parameters(desc: DescMessage, json: JsonObject, outer: readonly DescField[]): Generator<[name: string, text: string]> {
  for (const field of desc.fields) {
    const value = json[field.jsonName];
    if (value === undefined) continue;
    const fields = [...outer, field];
    if (isParent(field)) yield* parameters(field.message, value as JsonObject, fields);
    else if (field.fieldKind !== "map" && isTextual(field)) for (const item of [value].flat()) yield [jsonPath(fields), textOf(item)];
    else throw invalidFields([{ field: jsonPath(fields), description: "cannot be given as a parameter" }]);
  }
}

function textOf(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
