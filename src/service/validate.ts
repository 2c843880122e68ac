/** What ProtoJSON and proto readers let slip (C-29, C-30, C-41): every bad field of a request is named. */
import {
  type AgentCard,
  type Message,
  Role,
  type SendMessageRequest,
  type TaskState,
  TaskStateSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { TaskError } from "../core/errors.ts";
import { PAGE_SIZE } from "../rpc/field-bounds.ts";
import type { ServiceOptions } from "./options.ts";
import type { SendInit } from "./send.ts";
import { checkSendPushConfig } from "./validate-push.ts";
import { checkHistoryLength, checkId, checkTenant, Violations } from "./violations.ts";

/** A request with a task id and nothing else to check but the tenant and perhaps `historyLength`. */
export function validateTaskRequest(
  request: { id: string; tenant: string; historyLength?: number | undefined },
  options: ServiceOptions,
): void {
  const bad = new Violations();
  checkTenant(bad, request.tenant, options);
  if (request.id === "") bad.add("id", "is required: the id of a task");
  checkId(bad, "id", request.id);
  checkHistoryLength(bad, "historyLength", request.historyLength);
  bad.throwIfAny();
}

/** The tenant of a request that has nothing else to check. */
export function validateTenant(tenant: string, options: ServiceOptions): void {
  const bad = new Violations();
  checkTenant(bad, tenant, options);
  bad.throwIfAny();
}

/** ListTasks: bounds and known states (R-051, R-052, C-15). */
export function validateList(
  request: { tenant: string; pageSize?: number | undefined; historyLength?: number | undefined; status: TaskState; contextId: string },
  options: ServiceOptions,
): void {
  const bad = new Violations();
  checkTenant(bad, request.tenant, options);
  const { pageSize } = request;
  if (pageSize !== undefined && (pageSize < PAGE_SIZE.minimum || pageSize > PAGE_SIZE.maximum)) {
    bad.add("pageSize", `is ${pageSize}; right is ${PAGE_SIZE.minimum} to ${PAGE_SIZE.maximum}`);
  }
  checkHistoryLength(bad, "historyLength", request.historyLength);
  if (TaskStateSchema.value[request.status] === undefined) bad.add("status", `${request.status} is no TaskState`);
  checkId(bad, "contextId", request.contextId);
  bad.throwIfAny();
}

/** A send, of either kind. Answers the message, which is then known to be there. */
export function validateSend(request: SendMessageRequest, { options, webhooks }: Pick<SendInit, "options" | "webhooks">): Message {
  const bad = new Violations();
  checkTenant(bad, request.tenant, options);
  const { message, configuration } = request;
  if (message === undefined) bad.add("message", "is required");
  else checkMessage(bad, message, options.limits);
  checkHistoryLength(bad, "configuration.historyLength", configuration?.historyLength);
  const push = configuration?.taskPushNotificationConfig;
  if (push !== undefined) checkSendPushConfig(bad, push, { tenant: request.tenant, taskId: message?.taskId ?? "", webhooks });
  bad.throwIfAny();
  return message as Message;
}

/** Media types: of the parts against what the agent takes, of what the caller takes against what the agent gives (C-58). */
export function checkMediaTypes(card: AgentCard, message: Message, acceptedOutputModes: readonly string[]): void {
  const inputs = [...card.defaultInputModes, ...card.skills.flatMap(({ inputModes }) => inputModes)];
  const refused =
    inputs.length === 0 ? undefined : message.parts.find(({ mediaType }) => mediaType !== "" && !matchesAny(mediaType, inputs));
  if (refused !== undefined) {
    throw new TaskError("CONTENT_TYPE_NOT_SUPPORTED", `this agent does not take ${JSON.stringify(refused.mediaType)}`, {
      metadata: { mediaType: refused.mediaType, supported: inputs.join(", ") },
    });
  }
  const outputs = [...card.defaultOutputModes, ...card.skills.flatMap(({ outputModes }) => outputModes)];
  if (acceptedOutputModes.length === 0 || outputs.length === 0) return;
  if (acceptedOutputModes.some((mode) => matchesAny(mode, outputs))) return;
  throw new TaskError("CONTENT_TYPE_NOT_SUPPORTED", "this agent gives none of the accepted output modes", {
    metadata: { supported: outputs.join(", ") },
  });
}

/** Whether two media types can mean the same: parameters and case aside, `*` on either side. */
function matchesAny(mediaType: string, known: readonly string[]): boolean {
  const [type, subtype] = essence(mediaType);
  return known.some((one) => {
    const [knownType, knownSubtype] = essence(one);
    return alike(type, knownType) && alike(subtype, knownSubtype);
  });
}

function alike(a: string | undefined, b: string | undefined): boolean {
  return a === b || a === "*" || b === "*";
}

function essence(mediaType: string): string[] {
  const [bare = ""] = mediaType.split(";");
  const trimmed = bare.trim().toLowerCase();
  // Some cards write bare kinds: "text" stands for every text type.
  return trimmed.includes("/") ? trimmed.split("/") : [trimmed, "*"];
}

function checkMessage(bad: Violations, message: Message, { partsPerMessage }: ServiceOptions["limits"]): void {
  if (message.messageId === "") bad.add("message.messageId", "is required: an id that the sender makes, the same when it sends again");
  checkId(bad, "message.messageId", message.messageId);
  checkId(bad, "message.contextId", message.contextId);
  checkId(bad, "message.taskId", message.taskId);
  if (message.role === Role.UNSPECIFIED) bad.add("message.role", "is required: ROLE_USER");
  else if (message.role !== Role.USER) bad.add("message.role", "of a message to an agent is ROLE_USER");
  if (message.parts.length > partsPerMessage)
    bad.add("message.parts", `has ${message.parts.length} parts; at most ${partsPerMessage} are taken`);
  if (message.parts.length === 0) bad.add("message.parts", "needs at least one part");
  for (const [index, { content }] of message.parts.entries()) {
    if (content.case === undefined) bad.add(`message.parts[${index}]`, "needs one of text, raw, url, data");
  }
}
