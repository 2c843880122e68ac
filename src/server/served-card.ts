/** The card as it is served. */
import { type DescField, type DescMessage, type DescOneof, ScalarType } from "@bufbuild/protobuf";
import { type AgentCard, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Agent } from "../core/agent.ts";
import type { Log } from "../core/telemetry.ts";
import { declareSchemes, publicCard } from "../service/agent-card.ts";
import type { Access } from "./access.ts";
import { OptionsError, type ServerOptions } from "./options.ts";

/** For how long callers may keep it, and what they look up with it. */
export const CARD_MAX_AGE_SECONDS = 300;

const SCALARS: Partial<Record<ScalarType, string>> = { [ScalarType.STRING]: "a string", [ScalarType.BOOL]: "true or false" };
/** Values that are checked where they are encoded: JSON in the place of a message. */
const FREE = new Set(["google.protobuf.Struct", "google.protobuf.Value"]);

/** Strings that every card is to have. */
const TELLING = ["name", "description", "version"] as const;

/**
 * The agent's card with the server's part of it; its interfaces are named when the ports are known. Throws {@link OptionsError}, naming each member of the
 * agent's card that is not what its type says, and each that there is not: agents are often written in plain JavaScript, where nobody else tells. What is
 * missing is warned of.
 */
export function servedCard(agent: Agent, options: ServerOptions, access: Access, log: Log): AgentCard {
  const wrong: string[] = [];
  checkMessage(agent.card, AgentCardSchema, "agent.card", wrong);
  if (wrong.length > 0) throw new OptionsError(wrong.join("\n"));
  // The capability wants an authenticator, and a card; a card that declares it without one is told so when it is asked.
  const extended = access.isKnown && (agent.extendedCard !== undefined || agent.card.capabilities?.extendedAgentCard === true);
  const card = publicCard(agent.card, options, extended);
  const members = TELLING.filter((name) => card[name] === "");
  // An upstream's card may be such a one, and its callers want it served all the same.
  if (members.length > 0) log.warn({ members }, "the card says nothing in members that A2A requires: callers may refuse it");
  if (access.declared !== undefined) declareSchemes(card, access.declared, access.scopes);
  return card;
}

function checkMessage(value: unknown, schema: DescMessage, path: string, wrong: string[]): void {
  if (FREE.has(schema.typeName)) return;
  if (!isRecord(value)) return complain(path, "an object", value, wrong);
  for (const [key, member] of Object.entries(value)) {
    // Those are of messages that were made already, as the absent ones are.
    if (key.startsWith("$") || member === undefined) continue;
    const one = schema.members.find(({ localName }) => localName === key);
    const at = `${path}.${key}`;
    if (one === undefined) wrong.push(`${at}: there is no such member`);
    else if (one.kind === "oneof") checkOneof(member, one, at, wrong);
    else checkField(member, one, at, wrong);
  }
}

function checkOneof(value: unknown, { fields }: DescOneof, path: string, wrong: string[]): void {
  if (!isRecord(value)) return complain(path, "an object with case and value", value, wrong);
  if (value["case"] === undefined) return;
  const field = fields.find(({ localName }) => localName === value["case"]);
  if (field === undefined) complain(`${path}.case`, `one of ${fields.map(({ localName }) => localName).join(", ")}`, value["case"], wrong);
  else checkField(value["value"], field, `${path}.value`, wrong);
}

function checkField(value: unknown, field: DescField, path: string, wrong: string[]): void {
  if (field.fieldKind === "list") {
    if (!Array.isArray(value)) return complain(path, "a list", value, wrong);
    for (const [index, one] of value.entries()) checkValue(one, field, `${path}[${index}]`, wrong);
  } else if (field.fieldKind === "map") {
    if (!isRecord(value)) return complain(path, "an object", value, wrong);
    for (const [key, one] of Object.entries(value)) checkValue(one, field, `${path}[${JSON.stringify(key)}]`, wrong);
  } else {
    checkValue(value, field, path, wrong);
  }
}

function checkValue(value: unknown, { message, scalar }: DescField, path: string, wrong: string[]): void {
  if (message !== undefined) return checkMessage(value, message, path, wrong);
  const expected = scalar === undefined ? undefined : SCALARS[scalar];
  if (expected !== undefined && typeof value !== (scalar === ScalarType.STRING ? "string" : "boolean"))
    complain(path, expected, value, wrong);
}

function complain(path: string, expected: string, value: unknown, wrong: string[]): void {
  wrong.push(`${path}: ${expected} is expected, this is ${shown(value)}`);
}

function shown(value: unknown): string {
  if (value === null || typeof value !== "object") return typeof value === "string" ? JSON.stringify(value) : String(value);
  return Array.isArray(value) ? "a list" : "an object";
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
