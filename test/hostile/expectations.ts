/** What each variant must lead to, from what is known of its field. */
import type { DescField, DescMethod } from "@bufbuild/protobuf";
import { type FieldPath, goodValue, isPlain, isRequired, jsonPath, namesStored, type Targets } from "./request-fields.ts";
import type { Text } from "./texts.ts";

/** An error with the fields that it names, or none. */
export type Outcome =
  | "ok"
  | { readonly reason: string; readonly fields: readonly string[]; /** Whether fields may lie below. */ readonly below?: boolean };

/** One request and what it must lead to. */
export interface Variant<Request> {
  readonly name: string;
  readonly request: Request;
  readonly outcome: Outcome;
}

const invalid = (...fields: readonly string[]): Outcome => ({ reason: "INVALID_ARGUMENT", fields });

/** What a good request of a method leads to, where that is an error: the task that it names has ended. */
const WHEN_ENDED: Readonly<Record<string, string>> = { CancelTask: "TASK_NOT_CANCELABLE", SubscribeToTask: "UNSUPPORTED_OPERATION" };

/** The outcome of a request in which nothing is wrong. */
export function accepted(method: DescMethod): Outcome {
  const reason = WHEN_ENDED[method.name];
  return reason === undefined ? "ok" : { reason, fields: [] };
}

/** Strings that have a form of their own. */
const FORMS: Readonly<Record<string, RegExp>> = {
  "TaskPushNotificationConfig.url": /^https?:\/\/[!-~]+$/,
  "TaskPushNotificationConfig.token": /^[\t\u0020-\u007e]*$/,
  "AuthenticationInfo.scheme": /^[\w!#$%&'*+.^`|~-]{1,64}$/,
  "AuthenticationInfo.credentials": /^[\t\u0020-\u007e]*$/,
};

/** What a string leads to that is any string: some fields name something that must be there, some have a form. */
function meaningOf(value: string, path: FieldPath, method: DescMethod): Outcome {
  const field = path.at(-1) as DescField;
  const at = jsonPath(path);
  const form = FORMS[`${field.parent.name}.${field.name}`];
  if (form !== undefined) return form.test(value) ? accepted(method) : invalid(at);
  if (field.name === "tenant" || field.name === "page_token") return invalid(at);
  // Within a send: the configuration's task is the message's.
  if (field.parent.name === "TaskPushNotificationConfig" && field.name === "task_id" && path.length > 1) return invalid(at);
  const isName = field.parent.name === "Message" ? field.name === "task_id" : field.parent === method.input && namesStored(field, method);
  return isName ? { reason: "TASK_NOT_FOUND", fields: [] } : accepted(method);
}

/** Strings that may not be long: names of things that are kept and looked up. */
function isBounded({ name }: DescField): boolean {
  return name === "id" || name === "tenant" || /^(?:task|context|message)_id$/.test(name);
}

/** Numbers that are taken. Where unset cannot be told from 0, 0 is unset. */
function boundsOf({ name, proto }: DescField): readonly [min: number, max: number] {
  if (name === "page_size") return [proto.proto3Optional ? 1 : 0, 100];
  return [name === "history_length" ? 0 : -(2 ** 31), 2 ** 31 - 1];
}

/** The outcome of a request whose field has its good value, which means nothing where it would have to name something else. */
export function goodOutcome(path: FieldPath, method: DescMethod, targets: Targets): Outcome {
  const value = goodValue(path.at(-1) as DescField, method, targets);
  const [first] = [value].flat();
  const text = typeof first === "object" ? JSON.stringify(first) : String(first);
  return outcomeOf({ text, verdict: text === "x" ? "plain" : "good", value: text }, path, method);
}

/** The outcome of a request without the field. */
export function withoutField(path: FieldPath, method: DescMethod): Outcome {
  const field = path.at(-1) as DescField;
  // A message with one content has none then.
  if (field.oneof !== undefined) return invalid(jsonPath(path).slice(0, -field.jsonName.length - 1));
  return isRequired(field, method) ? invalid(jsonPath(path)) : accepted(method);
}

/** The outcome of a request that is good but for this text. */
export function outcomeOf({ verdict, at = "", value = "" }: Text, path: FieldPath, method: DescMethod): Outcome {
  const field = path.at(-1) as DescField;
  const place = jsonPath(path);
  switch (verdict) {
    case "bad":
      return at === "*" ? { reason: "INVALID_ARGUMENT", fields: [place], below: true } : invalid(place + at);
    case "unset":
      return withoutField(path, method);
    case "plain":
      return meaningOf(value, path, method);
    case "long":
      return isBounded(field) ? invalid(place) : meaningOf(value, path, method);
    case "hollow":
      return hollowOutcome(field, place + at, method);
    case "good":
      return accepted(method);
    default: {
      const [min, max] = boundsOf(field);
      return verdict >= min && verdict <= max ? accepted(method) : invalid(place);
    }
  }
}

/** A message without members lacks those that it must have, or its one content. */
export function hollowOutcome(field: DescField, place: string, method: DescMethod): Outcome {
  if (field.message === undefined || isPlain(field.message)) return accepted(method);
  const needed = field.message.fields.filter((one) => isRequired(one, method)).map(({ jsonName }) => `${place}.${jsonName}`);
  if (needed.length > 0) return invalid(...needed);
  return field.message.oneofs.length > 0 ? invalid(place) : accepted(method);
}
