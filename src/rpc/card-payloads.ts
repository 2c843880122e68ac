/** What a signature of an agent card is over (A2A 8.4.1). */
import { clone, type JsonValue } from "@bufbuild/protobuf";
import canonicalize from "canonicalize";
import { type AgentCard, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { jsonValue } from "./json-output.ts";

/**
 * The texts that signatures of a card may be over, in canonical form (RFC 8785) and without the signatures. The first is what A2A says:
 * REQUIRED members and optional ones that are set are kept, others are left out at their defaults. The second, where it
 * differs, is what the official SDKs make of a card: all that is empty is left out, REQUIRED or not, and what is left empty by that.
 */
export function cardPayloads(card: AgentCard): readonly string[] {
  const bare = clone(AgentCardSchema, card);
  bare.signatures = [];
  const json = jsonValue(AgentCardSchema, bare);
  return [...new Set([textOf(json), textOf(withoutEmpty(json) ?? {})])];
}

function textOf(json: JsonValue): string {
  // Undefined stands for what is no JSON.
  return canonicalize(json) ?? "";
}

/** The value without members and elements that are empty; undefined where nothing is left. */
function withoutEmpty(value: JsonValue): JsonValue | undefined {
  if (value === null || value === "") return undefined;
  if (typeof value !== "object") return value;
  if (Array.isArray(value)) {
    const items = value.map(withoutEmpty).filter((item) => item !== undefined);
    return items.length === 0 ? undefined : items;
  }
  const members = Object.entries(value).flatMap(([name, member]) => {
    const kept = withoutEmpty(member);
    return kept === undefined ? [] : [[name, kept] as const];
  });
  return members.length === 0 ? undefined : Object.fromEntries(members);
}
