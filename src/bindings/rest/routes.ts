/** Routes of a service, read from its `google.api.http` options, and the choice among them. */
import { type DescField, type DescMessage, type DescMethod, type DescService, getOption } from "@bufbuild/protobuf";
import { http } from "../../../gen/google/api/annotations_pb.ts";
import type { HttpRule } from "../../../gen/google/api/http_pb.ts";
import { isParent, isTextual } from "./parameter.ts";
import { parsePathTemplate, type PathTemplate, type PathVariable } from "./path-template.ts";
import { PathTrie, type TrieMatch } from "./path-trie.ts";

/** One way to call a method over HTTP: what an HttpRule says, without its additional bindings. */
export interface HttpBinding {
  /** The HTTP method in capitals; `*` stands for any. */
  readonly method: string;
  readonly template: string;
  /** The field that the body holds, `*` for the whole request, empty for no body. */
  readonly body: string;
  /** The field of the response that is the answer's body; empty for the whole response. */
  readonly responseBody: string;
}

/** A variable of a route with the fields it leads through. */
export interface RouteVariable extends PathVariable {
  readonly fields: readonly DescField[];
}

/** A binding, checked against the method's messages. */
export interface Route {
  readonly method: DescMethod;
  readonly binding: HttpBinding;
  readonly path: PathTemplate;
  readonly variables: readonly RouteVariable[];
  readonly body: "none" | "whole" | DescField;
  readonly responseBody: DescField | undefined;
}

/** A chosen route, and the still encoded segments that each of its variables took. */
export interface RouteMatch {
  readonly kind: "route";
  readonly route: Route;
  readonly captures: readonly (readonly string[])[];
}

/** What a path leads to: a route, nothing (404), or only routes of other HTTP methods (405, with what goes into `Allow`). */
export type MatchResult =
  | RouteMatch
  | { readonly kind: "path-not-found" }
  | { readonly kind: "method-not-allowed"; readonly allow: readonly string[] };

/** All routes of a service. */
export interface Routes {
  readonly all: readonly Route[];
  /** Finds the route of a raw, undecoded path without its query; {@link PathTrie.find} says which one wins. */
  match(httpMethod: string, rawPath: string): MatchResult;
}

/** What {@link buildRoutes} takes besides the service. */
export interface RouteOptions {
  /** Literal path before every template, such as `/v1`, without a slash at its end. Default: none. */
  readonly prefix?: string;
  /** The bindings of a method, given the declared ones: the place to add to them or to leave some out. Default: as declared. */
  readonly bindings?: (method: DescMethod, declared: readonly HttpBinding[]) => readonly HttpBinding[];
}

/** Reads the routes of a service. Throws where a rule is wrong: its template, a field that is not there, a path that is taken. */
export function buildRoutes(service: DescService, options: RouteOptions = {}): Routes {
  const all: Route[] = [];
  const trie = new PathTrie<Route>();
  for (const method of service.methods) {
    const declared = declaredBindings(getOption(method, http));
    for (const binding of options.bindings?.(method, declared) ?? declared) {
      const route = resolve(method, { ...binding, template: (options.prefix ?? "") + binding.template });
      const taken = trie.add(route.path, binding.method, route);
      if (taken !== undefined) throw new Error(`${describe(route)}: the path is taken by ${describe(taken)}`);
      all.push(route);
    }
  }
  return { all, match: (httpMethod, rawPath) => toResult(trie.find(httpMethod, rawPath)) };
}

/** The bindings of a method, and for a stream that is read with GET the same with POST (C-01). */
export function withPostTwins({ methodKind }: DescMethod, bindings: readonly HttpBinding[]): readonly HttpBinding[] {
  if (methodKind !== "server_streaming") return bindings;
  const reads = bindings.filter(({ method }) => method === "GET");
  return [...bindings, ...reads.map(({ template, responseBody }) => ({ method: "POST", template, body: "*", responseBody }))];
}

function toResult(found: TrieMatch<Route> | readonly string[]): MatchResult {
  if ("value" in found) {
    const { value: route, segments } = found;
    return { kind: "route", route, captures: route.variables.map(({ start, end }) => segments.slice(start, end)) };
  }
  return found.length === 0 ? { kind: "path-not-found" } : { kind: "method-not-allowed", allow: found };
}

function describe({ method, binding }: Pick<Route, "method" | "binding">): string {
  return `${method.toString()} at ${binding.method} ${binding.template}`;
}

function declaredBindings(rule: HttpRule): HttpBinding[] {
  const { pattern, body, responseBody } = rule;
  const more = rule.additionalBindings.flatMap(declaredBindings);
  if (pattern.case === undefined) return more;
  const [method, template] =
    pattern.case === "custom" ? [pattern.value.kind, pattern.value.path] : [pattern.case.toUpperCase(), pattern.value];
  return [{ method, template, body, responseBody }, ...more];
}

function resolve(method: DescMethod, binding: HttpBinding): Route {
  const path = parsePathTemplate(binding.template);
  const at = describe({ method, binding });
  const variables = path.variables.map((variable) => ({ ...variable, fields: variableFields(method.input, variable.fieldPath, at) }));
  const body = binding.body === "" ? "none" : binding.body === "*" ? "whole" : topField(method.input, binding.body, at);
  const responseBody = binding.responseBody === "" ? undefined : topField(method.output, binding.responseBody, at);
  return { method, binding, path, variables, body, responseBody };
}

function variableFields(input: DescMessage, fieldPath: readonly string[], at: string): DescField[] {
  const fields: DescField[] = [];
  let parent = input;
  for (const [index, name] of fieldPath.entries()) {
    const field = topField(parent, name, at);
    fields.push(field);
    if (index === fieldPath.length - 1) {
      if (field.fieldKind === "list" || field.fieldKind === "map" || !isTextual(field))
        throw new Error(`${at}: ${field.toString()} cannot be in a path`);
    } else if (isParent(field)) parent = field.message;
    else throw new Error(`${at}: ${field.toString()} has no fields`);
  }
  return fields;
}

function topField(desc: DescMessage, name: string, at: string): DescField {
  const field = desc.fields.find((candidate) => candidate.name === name);
  if (field === undefined) throw new Error(`${at}: ${desc.toString()} has no field ${name}`);
  return field;
}
