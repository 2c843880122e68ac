/** JSON-RPC 2.0 envelopes: what comes in, judged by the standard; what goes out, as text. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { WireError } from "../../rpc/errors.ts";
import { connectError, detailsJson } from "../../rpc/errors.ts";
import { oneLine } from "../../rpc/json-output.ts";
import { decodeJsonText, parseJsonText } from "../../rpc/json-text.ts";

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

/**
 * Reads a body. Throws PARSE_ERROR where it is no JSON in UTF-8, MESSAGE_TOO_LARGE where it holds too many values, INVALID_REQUEST for an
 * empty or too long batch.
 */
export function parsePosted(body: Uint8Array, maxBatch: number): Posted {
  const text = decodeJsonText(body);
  const value = parseJsonText(text);
  if (Array.isArray(value) && value.length === 0) throw connectError("INVALID_REQUEST", "a batch needs at least one request");
  if (Array.isArray(value) && value.length > maxBatch)
    throw connectError("INVALID_REQUEST", `a batch may have at most ${maxBatch} requests, this one has ${value.length}`);
  const sources = numberSources(text, value);
  if (!Array.isArray(value)) return { is: "one", element: parseElement(value, sources) };
  return { is: "batch", elements: value.map((element) => parseElement(element, sources)) };
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

/** Source texts of ids that are no safe integers, by the request that holds them: they go back as they came. */
function numberSources(text: string, value: JsonValue): ReadonlyMap<unknown, string> {
  const sources = new Map<unknown, string>();
  const elements = Array.isArray(value) ? value : [value];
  const rare = elements.some((element) => {
    const id = (element as JsonObject | null)?.["id"];
    return typeof id === "number" && !Number.isSafeInteger(id);
  });
  if (!rare) return sources;
  const ids: { holder: unknown; source: string }[] = [];
  const reviver = function (this: unknown, key: string, read: unknown, context?: { source?: string }): unknown {
    if (key === "id" && typeof read === "number" && context?.source !== undefined) ids.push({ holder: this, source: context.source });
    return read;
  };
  const again = revive(text, reviver);
  if (again === undefined) return sources;
  const roots = Array.isArray(again) ? again : [again];
  for (const { holder, source } of ids) {
    const index = roots.indexOf(holder as JsonValue);
    if (index >= 0) sources.set(elements[index], source);
  }
  return sources;
}

/** The second reading recurses, as the first does not: what nests too deep for it is refused by its own judges later. */
function revive(text: string, reviver: Parameters<typeof JSON.parse>[1]): JsonValue | undefined {
  try {
    return JSON.parse(text, reviver) as JsonValue;
  } catch {
    return undefined;
  }
}

function parseElement(element: JsonValue, sources: ReadonlyMap<unknown, string>): RpcElement {
  if (typeof element !== "object" || element === null || Array.isArray(element)) return bad("null", "a request is a JSON object");
  const { jsonrpc, method, params } = element;
  const rawId = element["id"];
  const id = idText(rawId, sources.get(element));
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
