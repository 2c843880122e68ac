/** Messages as JSON Schema (2020-12), in the form that ProtoJSON gives them. */
import { type DescEnum, type DescField, type DescMessage, getOption, hasOption, type JsonObject, ScalarType } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { field_behavior, FieldBehavior } from "../../../gen/google/api/field_behavior_pb.ts";
import { boundsOf } from "../../rpc/field-bounds.ts";
import type { Comments } from "./comments.ts";

/** What {@link Schemas} leaves out. */
export type Hidden = (field: DescField) => boolean;

/** The schemas of a document. A message is described once, under its name, the first time that it is referred to. */
export class Schemas {
  readonly #home: string;
  readonly #comments: Comments;
  readonly #hidden: Hidden;
  readonly #components = new Map<string, JsonObject>();

  /** `home` is the package whose messages go by their short names. */
  constructor(home: string, comments: Comments, hidden: Hidden) {
    this.#home = home;
    this.#comments = comments;
    this.#hidden = hidden;
  }

  /** All that was referred to, by name. */
  get components(): JsonObject {
    return Object.fromEntries([...this.#components].toSorted(([one], [other]) => (one < other ? -1 : 1)));
  }

  /** A message as the value of something. */
  message(desc: DescMessage): JsonObject {
    if (isWrapperDesc(desc)) return scalar(desc.fields[0].scalar);
    return WELL_KNOWN[desc.typeName] ?? this.#refer(desc, () => this.object(desc, []));
  }

  /** A message's own schema, written out, without some of its fields. */
  object(desc: DescMessage, without: readonly DescField[]): JsonObject {
    const fields = desc.fields.filter((field) => !without.includes(field) && !this.#hidden(field));
    const plain = fields.filter(({ oneof }) => oneof === undefined);
    // The schema leaves it open whether a member of a oneof is set; A2A's comments all say that exactly one is.
    const choices = desc.oneofs.map((oneof) => ({
      oneOf: fields.filter((field) => field.oneof === oneof).map((field) => this.#members([field], [field])),
    }));
    return {
      type: "object",
      ...described(this.#comments(desc)),
      ...this.#members(plain, plain.filter(isRequired)),
      ...(choices.length === 1 ? choices[0] : choices.length > 1 && { allOf: choices }),
    };
  }

  #members(fields: readonly DescField[], required: readonly DescField[]): JsonObject {
    const properties = Object.fromEntries(fields.map((field) => [field.jsonName, this.field(field)]));
    return { properties, ...(required.length > 0 && { required: required.map(({ jsonName }) => jsonName) }) };
  }

  /** A field's value with its bounds and its comment. */
  field(field: DescField): JsonObject {
    return {
      ...this.#shape(field),
      ...described(this.#comments(field)),
      ...boundsOf(`${field.parent.typeName}.${field.name}`),
      ...(field.deprecated && { deprecated: true }),
    };
  }

  #shape(field: DescField): JsonObject {
    switch (field.fieldKind) {
      case "list":
        return { type: "array", items: this.#element(field) };
      case "map":
        return { type: "object", additionalProperties: this.#element(field) };
      default:
        return this.#element(field);
    }
  }

  #element({ message, enum: choice, scalar: type }: DescField): JsonObject {
    if (message !== undefined) return this.message(message);
    return choice === undefined ? scalar(type) : this.#refer(choice, () => this.#enumeration(choice));
  }

  #enumeration(desc: DescEnum): JsonObject {
    const meanings = desc.values.map((value) => `- \`${value.name}\`: ${this.#comments(value)}`).join("\n");
    return { type: "string", ...described(`${this.#comments(desc)}\n\n${meanings}`), enum: desc.values.map(({ name }) => name) };
  }

  #refer(desc: DescMessage | DescEnum, make: () => JsonObject): JsonObject {
    const name = desc.file.proto.package === this.#home ? desc.typeName.slice(this.#home.length + 1) : desc.typeName;
    if (!this.#components.has(name)) {
      // Before it is made: messages may hold themselves.
      this.#components.set(name, {});
      this.#components.set(name, make());
    }
    return { $ref: `#/components/schemas/${name}` };
  }
}

/** Whether a field is always there. */
export function isRequired(field: DescField): boolean {
  return hasOption(field, field_behavior) && getOption(field, field_behavior).includes(FieldBehavior.REQUIRED);
}

/** A description, if there is anything to say. */
export function described(description: string): JsonObject {
  return description === "" ? {} : { description };
}

const WELL_KNOWN: Readonly<Record<string, JsonObject>> = {
  "google.protobuf.Timestamp": { type: "string", format: "date-time" },
  "google.protobuf.Duration": { type: "string", pattern: String.raw`^-?\d+(\.\d{1,9})?s$` },
  "google.protobuf.FieldMask": { type: "string" },
  "google.protobuf.Struct": { type: "object" },
  // Any JSON value, null included.
  "google.protobuf.Value": {},
  "google.protobuf.ListValue": { type: "array", items: {} },
  "google.protobuf.Empty": { type: "object" },
  "google.protobuf.Any": { type: "object", properties: { "@type": { type: "string" } }, required: ["@type"] },
};

function scalar(type: ScalarType): JsonObject {
  switch (type) {
    case ScalarType.STRING:
      return { type: "string" };
    case ScalarType.BYTES:
      return { type: "string", contentEncoding: "base64" };
    case ScalarType.BOOL:
      return { type: "boolean" };
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return { type: "integer", format: "int32" };
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return { type: "integer", minimum: 0, maximum: 2 ** 32 - 1 };
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      // NaN and the infinities are words.
      return { type: ["number", "string"] };
    default:
      return { type: "string", format: "int64" };
  }
}
