/** ProtoJSON as A2A wants it sent: REQUIRED members present at their defaults (C-18), one line, no line separators of any kind. */
import {
  type DescField,
  type DescMessage,
  getOption,
  hasOption,
  type JsonObject,
  type JsonValue,
  type MessageShape,
  ScalarType,
  toJson,
} from "@bufbuild/protobuf";
import { field_behavior, FieldBehavior } from "../../gen/google/api/field_behavior_pb.ts";

/** The message as JSON value, REQUIRED members added. */
export function jsonValue<D extends DescMessage>(desc: D, message: MessageShape<D>): JsonValue {
  const value = toJson(desc, message);
  const plan = planOf(desc);
  return plan.touches ? complete(plan, value) : value;
}

/** The message as JSON text: one line, with U+0085, U+2028 and U+2029 escaped, since some readers take them for line ends. */
export function jsonText<D extends DescMessage>(desc: D, message: MessageShape<D>): string {
  return oneLine(JSON.stringify(jsonValue(desc, message)));
}

/** Escapes what some readers take for a line end. */
export function oneLine(json: string): string {
  return /[\u0085\u2028\u2029]/.test(json)
    ? json.replace(/[\u0085\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)
    : json;
}

/** What to do with one message type: members to add, members to descend into. */
interface Plan {
  readonly defaults: readonly { readonly name: string; readonly value: () => JsonValue }[];
  readonly nested: readonly { readonly name: string; readonly shape: "one" | "list" | "map"; readonly plan: Plan }[];
  /** Whether anything below this message can be missing. */
  touches: boolean;
}

const plans = new Map<DescMessage, Plan>();

function planOf(desc: DescMessage): Plan {
  const known = plans.get(desc);
  if (known !== undefined) return known;
  const defaults: { name: string; value: () => JsonValue }[] = [];
  const nested: { name: string; shape: "one" | "list" | "map"; plan: Plan }[] = [];
  const plan: Plan = { defaults, nested, touches: false };
  plans.set(desc, plan);
  if (desc.typeName.startsWith("google.protobuf.")) return plan;
  for (const field of desc.fields) {
    const value = missing(field);
    if (value !== undefined) defaults.push({ name: field.jsonName, value });
    const inner = field.message;
    if (inner === undefined) continue;
    const shape = field.fieldKind === "list" ? "list" : field.fieldKind === "map" ? "map" : "one";
    const below = planOf(inner);
    if (below.touches || below.defaults.length > 0) nested.push({ name: field.jsonName, shape, plan: below });
  }
  plan.touches = defaults.length > 0 || nested.length > 0;
  return plan;
}

/** What a REQUIRED member shows when ProtoJSON leaves it out; messages are never made up. */
function missing(field: DescField): (() => JsonValue) | undefined {
  if (!hasOption(field, field_behavior) || !getOption(field, field_behavior).includes(FieldBehavior.REQUIRED)) return undefined;
  switch (field.fieldKind) {
    case "list":
      return () => [];
    case "map":
      return () => ({});
    case "scalar":
      return () => zero(field.scalar);
    case "enum":
      return () => field.enum.values[0]?.name ?? "";
    default:
      return undefined;
  }
}

function zero(scalar: ScalarType): JsonValue {
  if (scalar === ScalarType.STRING || scalar === ScalarType.BYTES) return "";
  return scalar === ScalarType.BOOL ? false : 0;
}

function complete(plan: Plan, value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  for (const { name, value: fill } of plan.defaults) value[name] ??= fill();
  for (const { name, shape, plan: inner } of plan.nested) descend(inner, shape, value, name);
  return value;
}

function descend(plan: Plan, shape: "one" | "list" | "map", parent: JsonObject, name: string): void {
  const value = parent[name];
  if (value === undefined || value === null) return;
  if (shape === "one") complete(plan, value);
  else for (const item of Object.values(value)) complete(plan, item);
}
