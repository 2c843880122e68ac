/** Requests in JSON that are good but for one field. */
import type { DescField, DescMethod, JsonValue } from "@bufbuild/protobuf";
import { goodOutcome, type Outcome, outcomeOf, type Variant, withoutField } from "./expectations.ts";
import { type FieldPath, goodRequestAround, goodValue, itemOf, jsonPath, type Targets } from "./request-fields.ts";
import { type JsonRequest, type JsonSurface, objectText, type Pair, type Placement } from "./surface.ts";
import { bodyTexts, parameterTexts } from "./texts.ts";

/** All variants of one field, as a surface places it. */
export function jsonVariants(surface: JsonSurface, method: DescMethod, path: FieldPath, targets: Targets): Variant<JsonRequest>[] {
  const [top] = path as [DescField];
  const placement = surface.placement(method, top);
  const field = path.at(-1) as DescField;
  if (placement !== "body" && path.length > 1) return [];
  const draft = new Draft(surface, method, path, targets);
  const texts = placement === "body" ? bodyTexts(field) : parameterTexts(field);
  // A path without its segment is another path.
  const sayable = texts.filter(({ verdict }) => placement !== "path" || verdict !== "unset");
  return [
    ...sayable.map((text) => ({
      name: text.text.slice(0, 60),
      request: draft.with([[field.jsonName, text.text]]),
      outcome: outcomeOf(text, path, method),
    })),
    ...(placement === "path" ? [] : structuralVariants(draft, method, path, placement)),
  ];
}

/** The field left out, given twice, under both its names, beside another member of its oneof, beside what is unknown. */
function structuralVariants(draft: Draft, method: DescMethod, path: FieldPath, placement: Placement): Variant<JsonRequest>[] {
  const field = path.at(-1) as DescField;
  const { jsonName, name } = field;
  const good = draft.goodText;
  const twice: Outcome = { reason: "INVALID_ARGUMENT", fields: [jsonPath(path)] };
  const variants: Variant<JsonRequest>[] = [
    { name: "unknown members beside it", request: draft.with([...unknown(placement), [jsonName, good]]), outcome: draft.whenGood },
    {
      name: "the same twice",
      request: draft.with([
        [jsonName, good],
        [jsonName, good],
      ]),
      outcome: placement === "query" ? twice : draft.whenGood,
    },
  ];
  if (field.oneof === undefined) variants.push({ name: "nothing", request: draft.with([]), outcome: withoutField(path, method) });
  if (name !== jsonName) {
    variants.push(
      { name: "its name in the proto", request: draft.with([[name, good]]), outcome: draft.whenGood },
      {
        name: "both its names",
        request: draft.with([
          [jsonName, good],
          [name, good],
        ]),
        outcome: twice,
      },
    );
  }
  for (const other of field.oneof?.fields ?? []) {
    if (other === field) continue;
    const both: readonly Pair[] = [
      [other.jsonName, draft.goodTextOf(other)],
      [jsonName, good],
    ];
    variants.push({ name: `${other.jsonName} too`, request: draft.with(both), outcome: twice });
    variants.push({
      name: `${other.jsonName} too, as null`,
      request: draft.with([
        [other.jsonName, "null"],
        [jsonName, good],
      ]),
      outcome: other.message === undefined ? draft.whenGood : twice,
    });
  }
  return variants;
}

function unknown(placement: Placement): Pair[] {
  if (placement === "query")
    return [
      ["no.such.field", "%zz"],
      ["__proto__", "x"],
      ["constructor.prototype.polluted", "1"],
    ];
  return [
    ["kind", '"text"'],
    ["__proto__", '{"polluted":true}'],
    ["constructor", "1"],
    ["", "[[{}]]"],
    ["noSuchField", '{"\\ud800":[1e400]}'],
  ];
}

/** A good request with a hole where one field stands. */
class Draft {
  readonly #surface: JsonSurface;
  readonly #method: DescMethod;
  readonly #path: FieldPath;
  readonly #targets: Targets;

  constructor(surface: JsonSurface, method: DescMethod, path: FieldPath, targets: Targets) {
    this.#surface = surface;
    this.#method = method;
    this.#path = path;
    this.#targets = targets;
  }

  /** A good value of the field, as text. */
  get goodText(): string {
    return this.goodTextOf(this.#path.at(-1) as DescField);
  }

  goodTextOf(field: DescField): string {
    return this.#text(this.#path[0] as DescField, goodValue(field, this.#method, this.#targets));
  }

  /** The outcome where the field has a good value. */
  get whenGood(): Outcome {
    return goodOutcome(this.#path, this.#method, this.#targets);
  }

  /** The request with these members where the field stands. */
  with(pairs: readonly Pair[]): JsonRequest {
    const good = goodRequestAround(this.#path, this.#method, this.#targets);
    const [top, ...below] = this.#path as [DescField, ...DescField[]];
    const others = Object.entries(good).filter(([name]) => name !== top.jsonName);
    const members: readonly (readonly [field: DescField, pair: Pair])[] = [
      ...others.map(([name, value]) => {
        const field = this.#method.input.fields.find(({ jsonName }) => jsonName === name) as DescField;
        return [field, [name, this.#text(field, value)]] as const;
      }),
      ...(below.length === 0
        ? pairs.map((pair) => [top, pair] as const)
        : [[top, [top.jsonName, hollowed(good[top.jsonName] as JsonValue, this.#path, pairs)]] as const]),
    ];
    const placed = (wanted: boolean): Pair[] =>
      members.filter(([field]) => (this.#surface.placement(this.#method, field) === "body") === wanted).map(([, pair]) => pair);
    return { params: placed(false), body: placed(true) };
  }

  #text(field: DescField, value: JsonValue): string {
    if (this.#surface.placement(this.#method, field) === "body") return JSON.stringify(value);
    return encodeURIComponent(typeof value === "string" ? value : JSON.stringify(value));
  }
}

const HOLE = "@hole@";

/** The text of a message in which the pairs stand for the field at the end of the path, and for the other members of its oneof. */
function hollowed(around: JsonValue, path: FieldPath, pairs: readonly Pair[]): string {
  const field = path.at(-1) as DescField;
  const parent = path.slice(1, -1).reduce((message, { jsonName }) => itemOf(message[jsonName] as JsonValue), itemOf(around));
  for (const one of field.oneof?.fields ?? [field]) delete parent[one.jsonName];
  if (pairs.length === 0) return JSON.stringify(around);
  parent[HOLE] = 0;
  return JSON.stringify(around).replace(`"${HOLE}":0`, () => objectText(pairs).slice(1, -1));
}
