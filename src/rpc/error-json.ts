/** Errors in JSON, in each form that servers of A2A have or had (C-06, C-07, C-32). */
import { type DescMessage, fromJson, type JsonObject, type JsonValue, type Message } from "@bufbuild/protobuf";
import { Code, type ConnectError } from "@connectrpc/connect";
import type { Violation } from "../core/errors.ts";
import { DETAIL_SCHEMAS, knownReason, reasonOfJsonRpc, statusName } from "./errors.ts";
import { isJsonObject } from "./json-reply.ts";
import { codeOfNumber, peerError } from "./peer-error.ts";

/** What came around the JSON. */
export interface ErrorEnvelope {
  /** Status of the HTTP reply; undefined in mid-stream. */
  readonly httpStatus: number | undefined;
  readonly headers: Headers;
}

/**
 * Reads `{"error": {code, status, message, details}}` (the code an HTTP status or gRPC's), `{"error": {code, message, data}}` of JSON-RPC,
 * either one without the member around it, and `application/problem+json`. What the error means is told by ErrorInfo, else by the problem's
 * type or JSON-RPC's code, else by the status. `body` is undefined where none can be read: then the status alone speaks.
 */
export function errorFromJson(body: JsonValue | undefined, { httpStatus, headers }: ErrorEnvelope): ConnectError {
  const json = isJsonObject(body) ? (isJsonObject(body["error"]) ? body["error"] : body) : {};
  const number = typeof json["code"] === "number" ? json["code"] : undefined;
  const named = codeOfName(json["status"]);
  return peerError({
    message: messageOf(json, httpStatus),
    code: named ?? codeOfAny(number) ?? codeOfHttp(httpStatus ?? statusOf(json)) ?? Code.Unknown,
    details: detailsOf(json),
    reason: reasonOfType(json) ?? reasonOfNumber(number, httpStatus) ?? (named === undefined ? oldReason(json, httpStatus) : undefined),
    facts: factsOf(json),
    violations: violationsOf(json),
    metadata: headers,
  });
}

/** Whether the payload of an event tells an error: any may, whatever the event's name (C-32). */
export function tellsError(json: JsonValue, event: string): boolean {
  if (!isJsonObject(json)) return false;
  if (isJsonObject(json["error"])) return true;
  return event === "error" && typeof json["message"] === "string";
}

const CODES: ReadonlyMap<string, Code> = new Map(
  Object.values(Code)
    .filter((code) => typeof code === "number")
    .map((code) => [statusName(code), code]),
);

const HTTP_CODES: ReadonlyMap<number, Code> = new Map([
  [400, Code.InvalidArgument],
  [401, Code.Unauthenticated],
  [403, Code.PermissionDenied],
  [404, Code.NotFound],
  [405, Code.Unimplemented],
  [408, Code.DeadlineExceeded],
  [409, Code.Aborted],
  [413, Code.ResourceExhausted],
  [415, Code.InvalidArgument],
  [429, Code.ResourceExhausted],
  [499, Code.Canceled],
  [500, Code.Internal],
  [501, Code.Unimplemented],
  [502, Code.Unavailable],
  [503, Code.Unavailable],
  // A gateway's: it is not the caller's deadline that has passed.
  [504, Code.Unavailable],
]);

/** What some statuses meant before 1.0.1, where nothing else is said (requirements 1.5). */
const OLD_REASONS: ReadonlyMap<number, string> = new Map([
  [409, "TASK_NOT_CANCELABLE"],
  [415, "CONTENT_TYPE_NOT_SUPPORTED"],
  [502, "INVALID_AGENT_RESPONSE"],
]);

/** JSON-RPC's "internal error" stands for whatever has no number of its own: a status that is more exact is better. */
const JSON_RPC_INTERNAL = -32603;

/** Details of A2A's problems are named by the end of their type, `…/errors/task-not-found`. */
const PROBLEM_TYPE = /\/errors\/([a-z-]+)$/;

function codeOfName(status: JsonValue | undefined): Code | undefined {
  return typeof status === "string" ? CODES.get(status) : undefined;
}

/** gRPC's codes and HTTP's statuses share no number, and those of JSON-RPC, which are negative, are reasons. */
function codeOfAny(number: number | undefined): Code | undefined {
  if (number === undefined || number <= 0) return undefined;
  return number < 100 ? codeOfNumber(number) : codeOfHttp(number);
}

function codeOfHttp(status: number | undefined): Code | undefined {
  if (status === undefined) return undefined;
  return HTTP_CODES.get(status) ?? (status >= 500 ? Code.Internal : status >= 400 ? Code.FailedPrecondition : undefined);
}

/** A problem tells its status itself, which is all there is in mid-stream. */
function statusOf(json: JsonObject): number | undefined {
  return typeof json["status"] === "number" ? json["status"] : undefined;
}

function reasonOfType(json: JsonObject): string | undefined {
  const data = isJsonObject(json["data"]) ? json["data"] : json;
  const [, name] = typeof data["type"] === "string" ? (PROBLEM_TYPE.exec(data["type"]) ?? []) : [];
  const reason = name?.replaceAll("-", "_").toUpperCase();
  return reason !== undefined && knownReason(reason) !== undefined ? reason : undefined;
}

function reasonOfNumber(number: number | undefined, httpStatus = 500): string | undefined {
  if (number === undefined || number >= 0) return undefined;
  // 200 is how JSON-RPC says that the error is in the body.
  const isVague = number === JSON_RPC_INTERNAL && httpStatus >= 400 && httpStatus !== 500;
  return isVague ? undefined : reasonOfJsonRpc(number);
}

/** Only an agent says so: a gateway's 502 has no JSON. */
function oldReason(json: JsonObject, httpStatus: number | undefined): string | undefined {
  return Object.keys(json).length > 0 ? OLD_REASONS.get(httpStatus ?? statusOf(json) ?? 0) : undefined;
}

function messageOf(json: JsonObject, httpStatus: number | undefined): string {
  const text = [json["message"], json["detail"], json["title"], json["error"]].find((one) => typeof one === "string" && one !== "");
  return (text as string | undefined) ?? (httpStatus === undefined ? "the server tells of an error" : `HTTP status ${httpStatus}`);
}

function detailsOf(json: JsonObject): { desc: DescMessage; value: Message }[] {
  const given = [json["details"], json["data"]].flatMap((some) => some ?? []);
  return given.flatMap((detail) => {
    if (!isJsonObject(detail)) return [];
    const { "@type": type, ...fields } = detail;
    const desc = DETAIL_SCHEMAS.find(({ typeName }) => typeof type === "string" && (type === typeName || type.endsWith(`/${typeName}`)));
    const value = desc && readDetail(desc, fields);
    return desc === undefined || value === undefined ? [] : [{ desc, value }];
  });
}

/** A detail that cannot be read is none: the error itself is worth more. */
function readDetail(desc: DescMessage, json: JsonObject): Message | undefined {
  try {
    return fromJson(desc, json, { ignoreUnknownFields: true });
  } catch {
    return undefined;
  }
}

/** What a problem, or the free data of a JSON-RPC error, says besides. Versions are one text (C-07). */
function factsOf(json: JsonObject): Record<string, string> {
  const facts: Record<string, string> = {};
  for (const [name, value] of Object.entries(isJsonObject(json["data"]) ? json["data"] : json)) {
    if (Array.isArray(value) && value.every((item) => typeof item === "string")) facts[name] = value.join(",");
    else if (typeof value === "string" && !PROBLEM_MEMBERS.has(name)) facts[name] = value;
  }
  return facts;
}

const PROBLEM_MEMBERS: ReadonlySet<string> = new Set(["type", "title", "detail", "instance", "message", "status", "error", "@type"]);

function violationsOf(json: JsonObject): Violation[] {
  const errors = json["errors"];
  if (!Array.isArray(errors)) return [];
  return errors
    .filter(isJsonObject)
    .flatMap(({ field, message, description = message }) =>
      typeof field === "string" ? [{ field, description: typeof description === "string" ? description : "" }] : [],
    );
}
