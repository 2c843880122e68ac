/** The wire form of a request in binary, judged before it is decoded: the decoder trusts wire types and the lengths of nested messages. */
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import type { Violation } from "../core/errors.ts";
import { tooManyValues } from "./json-text.ts";
import { REQUEST_BOUNDS, type RequestBounds } from "./request-bounds.ts";

/**
 * The first field of a message that is not what its wire form should be: of another type, cut short, longer than what it lies in, nested too
 * deep. Unknown fields are passed over, groups among them. With `utf8` the texts are judged as well, which the decoder does otherwise.
 * Throws MESSAGE_TOO_LARGE where the message holds more values than `bounds` say, counted as its JSON is.
 */
export function wireProblem(desc: DescMessage, bytes: Uint8Array, options: WireOptions = {}): Violation | undefined {
  try {
    new WireWalk(bytes, options).message(planOf(desc), bytes.length, 1);
    return undefined;
  } catch (error) {
    if (error instanceof Malformed) return { field: error.path, description: error.description };
    throw error;
  }
}

/** How a wire form is judged. */
interface WireOptions {
  /** Default {@link REQUEST_BOUNDS}. */
  readonly bounds?: RequestBounds;
  /** Default false. */
  readonly utf8?: boolean;
}

/** What is known of one field. */
interface FieldPlan {
  readonly name: string;
  readonly isList: boolean;
  readonly wireType: WireType;
  /** Whether the items of a list may come in one piece. */
  readonly packable: boolean;
  readonly isText: boolean;
  /** The fields of a message; those of an entry for a map. */
  readonly nested: (() => Plan) | undefined;
  /** Whether a nested message is one level more: the entry of a map is none. */
  readonly isLevel: boolean;
  /** Whether it is a value in JSON: what is within a google.protobuf.Value or an entry is the value that was counted already. */
  readonly counts: boolean;
}

interface Plan {
  /** Numbers of fields, as bits, of which one must be there: a google.protobuf.Value has a kind. 0 for none. */
  readonly needs: number;
  /** Messages that ProtoJSON writes as a plain value: what is in them has no name of its own. */
  readonly isPlain: boolean;
  readonly fields: ReadonlyMap<number, FieldPlan>;
}

const plans = new WeakMap<DescMessage, Plan>();

function planOf(desc: DescMessage): Plan {
  let plan = plans.get(desc);
  if (plan === undefined) {
    const value = isValue(desc);
    const fields = new Map(desc.fields.map((field) => [field.number, { ...fieldPlan(field), counts: !value }]));
    plan = { needs: value ? ANY_KIND : 0, isPlain: desc.typeName.startsWith("google.protobuf."), fields };
    plans.set(desc, plan);
  }
  return plan;
}

/** The six kinds of a google.protobuf.Value, and the value of an entry. */
const ANY_KIND = 0b111_1110;
const ENTRY_VALUE = 1 << 2;

function isValue(desc: DescMessage | undefined): boolean {
  return desc?.typeName === "google.protobuf.Value";
}

function fieldPlan(field: DescField): FieldPlan {
  const isList = field.fieldKind === "list";
  if (field.fieldKind === "map") {
    const entry: Plan = {
      needs: isValue(field.message) ? ENTRY_VALUE : 0,
      isPlain: true,
      fields: new Map([
        [1, typePlan("", false, { scalar: field.mapKey })],
        [2, typePlan("", false, field)],
      ]),
    };
    return {
      ...typePlan(field.jsonName, isList, field),
      wireType: WireType.LengthDelimited,
      isText: false,
      nested: () => entry,
      isLevel: false,
    };
  }
  return typePlan(field.jsonName, isList, field);
}

function typePlan(
  name: string,
  isList: boolean,
  type: { readonly scalar?: ScalarType | undefined; readonly message?: DescMessage | undefined },
): FieldPlan {
  const { scalar, message } = type;
  const wireType = message === undefined ? wireTypeOf(scalar) : WireType.LengthDelimited;
  return {
    name,
    isList,
    wireType,
    packable: isList && wireType !== WireType.LengthDelimited,
    isText: scalar === ScalarType.STRING,
    nested: message && (() => planOf(message)),
    isLevel: true,
    counts: false,
  };
}

/** Of an enum where there is no scalar. */
function wireTypeOf(scalar: ScalarType | undefined): WireType {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return WireType.LengthDelimited;
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return WireType.Bit64;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return WireType.Bit32;
    default:
      return WireType.Varint;
  }
}

/** What is wrong, and where; the path grows on the way out. */
class Malformed extends Error {
  override readonly name = "Malformed";
  readonly description: string;
  path = "";

  constructor(description: string) {
    super(description);
    this.description = description;
  }

  /** Puts the name of a field before the path; of what lies in a plain value only the value has a name. */
  within(name: string, plain: boolean): this {
    this.path = plain || this.path === "" ? name : name === "" ? this.path : `${name}.${this.path}`;
    return this;
  }
}

/** Records of the wire for each value: an object's member has four, its entry, its key, its value and what that is. */
const RECORDS = 4;
/** What is wrong with a google.protobuf.Value without a kind. */
export const NO_KIND = "must hold a value: null, a number, a string, a boolean, an object or an array";
const CUT_SHORT = "is cut short";
const MAX_VARINT_BYTES = 10;
/** Tags of the field numbers 1 and 2^29 - 1. */
const MIN_TAG = 8;
const MAX_TAG = 2 ** 32 - 1;

class WireWalk {
  readonly #bytes: Uint8Array;
  readonly #utf8: boolean;
  readonly #bounds: RequestBounds;
  #at = 0;
  #values = 0;
  #records = 0;

  constructor(bytes: Uint8Array, { bounds = REQUEST_BOUNDS, utf8 = false }: WireOptions) {
    this.#bytes = bytes;
    this.#utf8 = utf8;
    this.#bounds = bounds;
  }

  /** Goes to the end of a message. */
  message(plan: Plan, end: number, depth: number): void {
    this.#checkDepth(depth);
    const start = this.#at;
    let seen = 0;
    while (this.#at < end) {
      const at = this.#at;
      const tag = this.#tag(end);
      const field = plan.fields.get(tag >>> 3);
      if (field !== undefined) seen |= 1 << (tag >>> 3);
      if (field?.counts !== false) this.#values += 1;
      if (field === undefined) this.#skip(tag, end, depth);
      else {
        try {
          this.#field(field, tag & 7, end, depth);
        } catch (error) {
          if (error instanceof Malformed) error.within(this.#place(field, tag, start, at), field.nested?.().isPlain === true);
          throw error;
        }
      }
    }
    if (plan.needs !== 0 && (seen & plan.needs) === 0) throw new Malformed(NO_KIND);
  }

  #field(field: FieldPlan, wireType: WireType, end: number, depth: number): void {
    const packed = field.packable && wireType === WireType.LengthDelimited;
    if (wireType !== field.wireType && !packed) throw new Malformed("is encoded as another type");
    if (wireType !== WireType.LengthDelimited) return this.#scalar(wireType, end);
    const valueEnd = this.#lengthDelimited(end);
    if (packed) while (this.#at < valueEnd) this.#scalar(field.wireType, valueEnd);
    else if (field.nested !== undefined) this.message(field.nested(), valueEnd, field.isLevel ? depth + 1 : depth);
    else {
      if (this.#utf8 && field.isText && !isUtf8(this.#bytes.subarray(this.#at, valueEnd))) throw new Malformed("must be UTF-8");
      this.#at = valueEnd;
    }
  }

  #tag(end: number): number {
    this.#records += 1;
    const most = this.#bounds.values;
    if (this.#values > most || this.#records > RECORDS * most) throw tooManyValues(most);
    const tag = this.#varint(end);
    if (tag < MIN_TAG || tag > MAX_TAG) throw new Malformed("holds a field without a valid number");
    return tag;
  }

  #checkDepth(depth: number): void {
    const most = this.#bounds.depth;
    if (depth > most) throw new Malformed(`is nested too deep: more than ${most} levels`);
  }

  /** Reads a length; answers where what has it ends. */
  #lengthDelimited(end: number): number {
    const length = this.#varint(end);
    if (length > end - this.#at) throw new Malformed(CUT_SHORT);
    return this.#at + length;
  }

  #scalar(wireType: WireType, end: number): void {
    if (wireType === WireType.Varint) {
      this.#varint(end);
      return;
    }
    this.#at += wireType === WireType.Bit64 ? 8 : 4;
    if (this.#at > end) throw new Malformed(CUT_SHORT);
  }

  /** Passes over an unknown field. */
  #skip(tag: number, end: number, depth: number): void {
    const wireType: WireType = tag & 7;
    if (wireType === WireType.LengthDelimited) this.#at = this.#lengthDelimited(end);
    else if (wireType === WireType.StartGroup) this.#group(tag, end, depth + 1);
    else if (wireType === WireType.EndGroup || wireType > WireType.Bit32) throw new Malformed("holds a field without a valid type");
    else this.#scalar(wireType, end);
  }

  #group(start: number, end: number, depth: number): void {
    this.#checkDepth(depth);
    for (;;) {
      const tag = this.#tag(end);
      if (tag === start + 1) return;
      this.#skip(tag, end, depth);
    }
  }

  #varint(end: number): number {
    let value = 0;
    let scale = 1;
    const most = Math.min(end, this.#at + MAX_VARINT_BYTES);
    while (this.#at < most) {
      const byte = this.#bytes[this.#at++] as number;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
    throw new Malformed(most === end ? CUT_SHORT : "holds a number of more than 64 bits");
  }

  /** The field's name, with its index where it is one of a list: the fields before it, from the start of their message, are well formed. */
  #place({ name, isList }: FieldPlan, tag: number, start: number, at: number): string {
    if (!isList) return name;
    let index = 0;
    this.#at = start;
    while (this.#at < at) {
      const other = this.#varint(at);
      if (other === tag) index += 1;
      this.#skip(other, at, 0);
    }
    return `${name}[${index}]`;
  }
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
