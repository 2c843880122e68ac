/** Query strings: form encoding, field paths with dots, repeated names. */
import type { DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { invalidFields } from "../../rpc/json-input.ts";
import { isParent, isTextual, splitsAtCommas, textToJson } from "./parameter.ts";
import { decodeEscapes } from "./path-template.ts";

/** A parameter that names a field: the fields that lead to it, and what it was given. */
interface Parameter {
  readonly fields: readonly DescField[];
  readonly values: string[];
}

/**
 * Reads a query string (without `?`) as the ProtoJSON of a request. JSON names and proto names are taken; names that lead to no field are
 * ignored, and so are fields that `keep` refuses. A list is given by repeating the name or, unless its values may hold commas, by
 * commas (C-55). Throws INVALID_ARGUMENT for what cannot be a parameter, a single field given twice, and escapes that are no UTF-8; values
 * are left to the decoder of the JSON.
 */
export function readQuery(desc: DescMessage, query: string, keep: (fields: readonly DescField[]) => boolean): JsonObject {
  const parameters = new Map<string, Parameter>();
  const violations: { field: string; description: string }[] = [];
  for (const pair of query.split("&")) {
    const equals = pair.indexOf("=");
    const name = decodeForm(equals < 0 ? pair : pair.slice(0, equals));
    const found = name === undefined ? undefined : findField(desc, name.split("."));
    if (found === undefined || !keep(found.fields)) continue;
    const field = jsonPath(found.fields);
    const value = equals < 0 ? "" : decodeForm(pair.slice(equals + 1));
    if (!found.isParameter) violations.push({ field, description: "cannot be given as a parameter" });
    else if (value === undefined) violations.push({ field, description: "must be percent-encoded UTF-8" });
    else {
      const parameter = parameters.get(field) ?? { fields: found.fields, values: [] };
      parameter.values.push(value);
      parameters.set(field, parameter);
    }
  }
  const json: JsonObject = {};
  for (const [field, { fields, values }] of parameters) {
    if (values.length > 1 && fields.at(-1)?.fieldKind !== "list") violations.push({ field, description: "must be given only once" });
    setJson(json, fields, values);
  }
  if (violations.length > 0) throw invalidFields(violations);
  return json;
}

/** Sets a field of a request's ProtoJSON from its texts, making the messages around it. */
export function setJson(json: JsonObject, fields: readonly DescField[], texts: readonly string[]): void {
  let target = json;
  for (const [index, field] of fields.entries()) {
    if (index < fields.length - 1) target = (target[field.jsonName] ??= {}) as JsonObject;
    else target[field.jsonName] = valueJson(field, texts);
  }
}

/** The field path as errors name it. */
export function jsonPath(fields: readonly DescField[]): string {
  return fields.map((field) => field.jsonName).join(".");
}

function valueJson(field: DescField, texts: readonly string[]): JsonValue {
  if (field.fieldKind !== "list") return textToJson(field, texts[0] ?? "");
  const items = splitsAtCommas(field) ? texts.flatMap((text) => text.split(",")) : texts;
  return items.map((item) => textToJson(field, item));
}

/** Follows the names as far as they lead. Undefined where they lead nowhere: an unknown name, or something below a plain value. */
function findField(desc: DescMessage, names: readonly string[]): { fields: readonly DescField[]; isParameter: boolean } | undefined {
  const fields: DescField[] = [];
  let parent = desc;
  for (const [index, name] of names.entries()) {
    const field = parent.fields.find((candidate) => candidate.name === name || candidate.jsonName === name);
    if (field === undefined) return undefined;
    fields.push(field);
    if (index === names.length - 1) break;
    if (isParent(field)) parent = field.message;
    else return field.fieldKind === "map" || !isTextual(field) ? { fields, isParameter: false } : undefined;
  }
  const last = fields.at(-1);
  return { fields, isParameter: last !== undefined && last.fieldKind !== "map" && isTextual(last) };
}

/** Form encoding: as in a path, and + is a space. */
function decodeForm(text: string): string | undefined {
  return decodeEscapes(text.replaceAll("+", " "));
}
