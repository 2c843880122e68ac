/** What the bindings over HTTP/1.1 share. */
import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type Failure, readDetails } from "../../bindings/callers/caller.ts";
import type { HttpReply } from "../../bindings/callers/http.ts";
import { type Answer, assertMembers } from "../surface.ts";

/** Head and body of a reply as text. */
export function receivedOf({ status, headers, text }: HttpReply): string {
  return [String(status), ...[...headers].map(([name, value]) => `${name}: ${value}`), "", text].join("\n");
}

/** Reads an error in HTTP+JSON's form. */
export function statusFailure(reply: HttpReply): Failure {
  assert.equal(reply.headers.get("content-type"), "application/json", receivedOf(reply));
  const json = JSON.parse(reply.text) as JsonValue;
  assertMembers(json, ["error"]);
  assertMembers(json["error"], ["code", "status", "message", "details"]);
  const { code, message, details } = json["error"] as { code: number; message: string; details: JsonObject[] };
  return { ...readDetails(details), code, httpStatus: reply.status, message };
}

/** Reads an error in JSON-RPC's form. */
export function rpcFailure(json: JsonValue, httpStatus: number): Failure {
  assertMembers(json, ["jsonrpc", "id", "error"]);
  assertMembers(json["error"], ["code", "message", "data"]);
  const { code, message, data } = json["error"] as { code: number; message: string; data: JsonObject[] };
  return { ...readDetails(data), code, httpStatus, message };
}

/** The data of every event of a stream. Checks that it is made of data lines, comments and blank lines alone. */
export function eventsOf(text: string): JsonObject[] {
  const lines = text.split(/\r\n|[\n\r]/);
  for (const line of lines) assert.match(line, /^(?:data: \{.*\}|:.*)?$/);
  return lines.filter((line) => line.startsWith("data: ")).map((line) => JSON.parse(line.slice("data: ".length)) as JsonObject);
}

/** The answer of a stream or of a plain reply; `failureIn` finds the error of either. */
export function answerOf(reply: HttpReply, failureIn: (json: JsonObject) => Failure | undefined): Answer {
  const streams = reply.headers.get("content-type") === "text/event-stream";
  const values = streams ? eventsOf(reply.text) : [JSON.parse(reply.text) as JsonObject];
  assert.notEqual(values.length, 0, "a stream without a frame");
  return { failure: values.map(failureIn).find((failure) => failure !== undefined), received: receivedOf(reply) };
}
