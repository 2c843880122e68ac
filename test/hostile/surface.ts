/** A binding as an attacker sees it: whatever can be put on its wire can be sent, and everything that comes back is kept. */
import assert from "node:assert/strict";
import type { DescField, DescMethod, JsonObject } from "@bufbuild/protobuf";
import type { Caller, Failure } from "../bindings/callers/caller.ts";

/** What came back. */
export interface Answer {
  /** Undefined where the call succeeded. */
  readonly failure: Failure | undefined;
  /** All that came, as text: heads, bodies, and trailers with their details decoded. */
  readonly received: string;
}

/** A way to send requests of one form. */
export interface Surface<Request> {
  readonly name: string;
  readonly binding: Caller["binding"];
  /** Sends and reads to the end. Rejects only where nothing came back, or something that has not the binding's form. */
  send(method: DescMethod, request: Request, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  close(): void;
}

/** A name and a text that may be wrong in any way. */
export type Pair = readonly [name: string, text: string];

/** A request in JSON, member by member, so that what JSON.stringify never says can be said. */
export interface JsonRequest {
  /** Names and percent-encoded texts of what goes into the path or the query; empty where the binding has neither. */
  readonly params: readonly Pair[];
  /** Names and JSON texts of the members of the body. */
  readonly body: readonly Pair[];
}

/** Where a field of a request stands. */
export type Placement = "path" | "query" | "body";

/** A binding that takes JSON. */
export interface JsonSurface extends Surface<JsonRequest> {
  placement(method: DescMethod, field: DescField): Placement;
}

/** A binding that takes a message in binary. */
export type BinarySurface = Surface<Uint8Array>;

/** The members as one object. */
export function objectText(members: readonly Pair[]): string {
  return `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
}

/** Checks that an object has these members and no others. */
export function assertMembers(json: unknown, members: readonly string[]): asserts json is JsonObject {
  assert.ok(typeof json === "object" && json !== null, `no object: ${JSON.stringify(json)}`);
  assert.deepEqual(Object.keys(json), members);
}

/** Bytes of a body as text on one line: what is in them is data, and no text of it is a line of the reply. */
export function onOneLine(latin1: string): string {
  return latin1.replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** What no reply may hold: places in code, stacks, names of parts, and values that were never meant for text. */
const INTERNALS = [
  /\/src\/|\/test\/|\/work\/|node_modules|node:internal/,
  /\.[cm]?[jt]s:\d+/,
  /\bat (?:async )?(?:Object|Function|Module|new|process|[A-Z#]\w*)[. ]\S*/,
  /\b\w*Error: |\bstack\b/,
  /redis|EVALSHA|CROSSSLOT|WRONGTYPE|grpc-js|connect-es|protobuf-es|nghttp2|llhttp/i,
  /\bundefined\b|\[object \w+\]/,
];

/** What hostile texts bring where they are taken for a line of their own; it must come back within a text or not at all. */
export const INJECTED = "x-injected";

/** Checks that nothing internal is in what came, and that no text of the caller's became a line of it. */
export function assertClean(received: string): void {
  for (const pattern of INTERNALS) assert.doesNotMatch(received, pattern);
  const lines = received.split(/[\n\r\u0085\u2028\u2029]/);
  assert.ok(!lines.some((line) => line.trimStart().startsWith(INJECTED)), `a line was brought in: ${received}`);
}
