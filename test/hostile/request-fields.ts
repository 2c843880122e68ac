/** The fields of every request, found by its descriptor, and a good value for each: a new field is attacked without a word here. */
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescMethod,
  getOption,
  hasOption,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import { field_behavior, FieldBehavior } from "../../gen/google/api/field_behavior_pb.ts";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.ts";

/** The way to a field, outermost first; of a list on the way the first item is meant. */
export type FieldPath = readonly DescField[];

/** The methods under attack. */
export const METHODS: readonly DescMethod[] = A2AService.methods;

/** Every field of a method's request. Of a request that another method takes too, what lies deep is read alike and is attacked there. */
export function attackedPaths(method: DescMethod): FieldPath[] {
  const paths = fieldPaths(method.input);
  return METHODS.find(({ input }) => input === method.input) === method ? paths : paths.filter(({ length }) => length < 3);
}

/** Every field of a message and of the messages within it, free JSON aside. */
function fieldPaths(desc: DescMessage): FieldPath[] {
  return desc.fields.flatMap((field) => {
    const below = field.message === undefined || isPlain(field.message) ? [] : fieldPaths(field.message);
    return [[field], ...below.map((path) => [field].concat(path))];
  });
}

/** Whether ProtoJSON writes the message as a plain value. */
export function isPlain({ typeName }: DescMessage): boolean {
  return typeName.startsWith("google.protobuf.");
}

/** The path as errors name it. */
export function jsonPath(path: FieldPath): string {
  return path.map((field, at) => (at < path.length - 1 && field.fieldKind === "list" ? `${field.jsonName}[0]` : field.jsonName)).join(".");
}

/** Whether a request without the field is refused. */
export function isRequired(field: DescField, method: DescMethod): boolean {
  // 1.2: not marked, but needed: path or field.
  if (method.name === "CreateTaskPushNotificationConfig" && field.toString().endsWith("TaskPushNotificationConfig.task_id")) return true;
  return hasOption(field, field_behavior) && getOption(field, field_behavior).includes(FieldBehavior.REQUIRED);
}

/** What a good request names. */
export interface Targets {
  /** A task that has ended: it can be read, and nothing that a request may say is done to it. */
  readonly taskId: string;
}

/** The id of its webhook. */
export const CONFIG_ID = "webhook";

/** Whether a field of the request itself names what must be there: a task, or a webhook to read. */
export function namesStored(field: DescField, method: DescMethod): boolean {
  return field.name === "task_id" || (field.name === "id" && !/^(?:Create|Delete)/.test(method.name));
}

/** A request of the method with what it needs and no more. */
export function goodRequest(method: DescMethod, targets: Targets): JsonObject {
  return goodMessage(method.input, method, targets);
}

/** A good request in which every message on the way to a field is there. */
export function goodRequestAround(path: FieldPath, method: DescMethod, targets: Targets): JsonObject {
  const request = goodRequest(method, targets);
  let parent = request;
  for (const field of path.slice(0, -1)) parent = itemOf((parent[field.jsonName] ??= goodValue(field, method, targets)));
  return request;
}

/** A message, or the first of a list of them. */
export function itemOf(value: JsonValue): JsonObject {
  return (Array.isArray(value) ? value[0] : value) as JsonObject;
}

/** A good value of a field. */
export function goodValue(field: DescField, method: DescMethod, targets: Targets): JsonValue {
  const one = goodOne(field, method, targets);
  return field.fieldKind === "list" ? [one] : one;
}

function goodMessage(desc: DescMessage, method: DescMethod, targets: Targets): JsonObject {
  const needed = desc.fields.filter((field) => isRequired(field, method));
  const chosen = desc.oneofs.flatMap(({ fields }) => fields.slice(0, 1));
  return Object.fromEntries([...needed, ...chosen].map((field) => [field.jsonName, goodValue(field, method, targets)]));
}

function goodOne(field: DescField, method: DescMethod, targets: Targets): JsonValue {
  if (field.enum !== undefined) return enumName(field.enum);
  if (field.message !== undefined) return goodWellKnown(field.message) ?? goodMessage(field.message, method, targets);
  if (field.scalar === ScalarType.BOOL) return true;
  if (field.scalar === ScalarType.BYTES) return "AA==";
  if (field.scalar !== ScalarType.STRING) return 1;
  if (field.name === "message_id") return crypto.randomUUID();
  if (field.name === "url") return "https://example.org/hook";
  if (field.parent !== method.input || !namesStored(field, method)) return "x";
  return field.name === "id" && method.name.includes("Config") ? CONFIG_ID : targets.taskId;
}

function enumName({ values }: DescEnum): string {
  return (values.find(({ number }) => number !== 0) ?? values[0])?.name ?? "";
}

function goodWellKnown({ typeName }: DescMessage): JsonValue | undefined {
  if (typeName === "google.protobuf.Struct") return { k: "v" };
  if (typeName === "google.protobuf.Value") return [1, "two", null];
  if (typeName === "google.protobuf.Timestamp") return "2026-01-02T03:04:05.678Z";
  return undefined;
}
