/** JSON-RPC 2.0 envelopes: what comes in, judged by the standard; what goes out, as text. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { WireError } from "../../rpc/errors.ts";
import { connectError, detailsJson } from "../../rpc/errors.ts";
import { oneLine } from "../../rpc/json-output.ts";
import { decodeJsonText, parseJsonText } from "../../rpc/json-text.ts";
import type { RequestBounds } from "../../rpc/request-bounds.ts";

/** Longest id: it goes into every event of a stream. */
const MAX_ID = 1024;

/** A request as far as its envelope is good. */
export interface RpcRequest {
  readonly method: string;
  /** Absent and null count as `{}` (C-52). */
  readonly params: JsonValue;
  /** The id as JSON text, as it came; undefined: a notification. */
  readonly id: string | undefined;
}

/** One element of what was posted: a request, or what is wrong with it. */
export type RpcElement = RpcRequest | { readonly id: string; readonly error: unknown };

/** What was posted: one element, or a batch of them. */
export type Posted =
  | { readonly is: "one"; readonly element: RpcElement }
  | { readonly is: "batch"; readonly elements: readonly RpcElement[] };

/** What may be posted at once. */
export interface PostedBounds {
  readonly requestBounds: RequestBounds;
  /** Most requests of one batch. */
  readonly maxBatch: number;
}

/**
 * Reads a body. Throws PARSE_ERROR where it is no JSON in UTF-8, MESSAGE_TOO_LARGE where it holds too many values, INVALID_REQUEST for an
 * empty or too long batch.
 */
export function parsePosted(body: Uint8Array, { maxBatch, requestBounds }: PostedBounds): Posted {
  const text = decodeJsonText(body, requestBounds);
  const value = parseJsonText(text);
  if (!Array.isArray(value)) return { is: "one", element: parseElement(value, idSources(text, [value], false)[0]) };
  if (value.length === 0) throw connectError("INVALID_REQUEST", "a batch needs at least one request");
  if (value.length > maxBatch)
    throw connectError("INVALID_REQUEST", `a batch may have at most ${maxBatch} requests, this one has ${value.length}`);
  const sources = idSources(text, value, true);
  return { is: "batch", elements: value.map((element, at) => parseElement(element, sources[at])) };
}

/** A reply with a result, given as JSON text. */
export function resultText(id: string, result: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
}

/** A reply with an error (R-236, R-240, C-10). */
export function errorText(id: string, error: WireError): string {
  const body = { code: error.jsonRpc, message: error.message, data: detailsJson(error) };
  return oneLine(`{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(body)}}`);
}

/** Source texts of ids that are no safe integers, by their place among the elements: they go back as they came. */
function idSources(text: string, elements: readonly JsonValue[], isBatch: boolean): readonly (string | undefined)[] {
  const rare = elements.some((element) => {
    const id = (element as JsonObject | null)?.["id"];
    return typeof id === "number" && !Number.isSafeInteger(id);
  });
  return rare ? numbersOf("id", text, isBatch ? 1 : 0) : [];
}

const NUMBER = /\s*-?[\d.eE+-]+/y;
const COLON = /\s*:/y;

/**
 * Source texts of the numbers that the objects at a level of a JSON text have under a name. The text is JSON already; it is read without
 * recursion, because other elements of a batch may nest as deep as they like.
 */
function numbersOf(name: string, text: string, level: number): readonly (string | undefined)[] {
  const sources: (string | undefined)[] = [];
  let depth = 0;
  let element = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === "{" || char === "[") depth += 1;
    else if (char === "}" || char === "]") depth -= 1;
    else if (char === "," && depth === level) element += 1;
    else if (char === '"') {
      const start = at;
      at = endOfString(text, start);
      const colon = depth === level + 1 ? matchAt(COLON, text, at + 1) : undefined;
      if (colon === undefined || JSON.parse(text.slice(start, at + 1)) !== name) continue;
      sources[element] = matchAt(NUMBER, text, at + 1 + colon.length)?.trim();
    }
  }
  return sources;
}

/** The place of the quote that ends a string. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text[end - 1 - escapes] === "\\") escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

function parseElement(element: JsonValue, idSource: string | undefined): RpcElement {
  if (typeof element !== "object" || element === null || Array.isArray(element)) return bad("null", "a request is a JSON object");
  const { jsonrpc, method, params } = element;
  const rawId = element["id"];
  const id = idText(rawId, idSource);
  if (id === "invalid") return bad("null", `id is a string, a number or null, of at most ${MAX_ID} characters`);
  const known = id ?? "null";
  if (jsonrpc !== "2.0") return bad(known, 'jsonrpc is "2.0"');
  if (typeof method !== "string") return bad(known, "method is a string");
  return { method, params: params ?? {}, id };
}

function idText(id: JsonValue | undefined, source: string | undefined): string | undefined {
  if (id === undefined) return undefined;
  if (source !== undefined) return source.length <= MAX_ID ? source : "invalid";
  if (typeof id === "string" && id.length > MAX_ID) return "invalid";
  return id === null || typeof id === "string" || typeof id === "number" ? oneLine(JSON.stringify(id)) : "invalid";
}

function bad(id: string, message: string): RpcElement {
  return { id, error: connectError("INVALID_REQUEST", message) };
}
