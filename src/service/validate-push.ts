/** What a webhook's configuration may say: it ends up in requests that this server makes. */
import type { ListTaskPushNotificationConfigsRequest, TaskPushNotificationConfig } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { PAGE_SIZE } from "../rpc/field-bounds.ts";
import type { ServiceOptions } from "./options.ts";
import { checkId, checkTenant, Violations } from "./violations.ts";
import type { Webhooks } from "./webhooks.ts";

const MAX_URL = 2048;
const MAX_SCHEME = 64;
const MAX_SECRET = 8192;
/** A token of RFC 9110, 5.6.2: names of authentication schemes are such. */
const SCHEME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** What may stand in a header field's value. */
const HEADER_TEXT = /^[\t\u0020-\u007e]*$/;

/** CreateTaskPushNotificationConfig: the configuration names its task. */
export function validatePushConfig(config: TaskPushNotificationConfig, options: ServiceOptions, webhooks: Webhooks): void {
  const bad = new Violations();
  checkTenant(bad, config.tenant, options);
  if (config.taskId === "") bad.add("taskId", "is required: the id of a task");
  checkId(bad, "taskId", config.taskId);
  checkPushConfig(bad, "", config, webhooks);
  bad.throwIfAny();
}

/** The configuration within a send: its task is the send's, if it names one (R-021, C-27). */
export function checkSendPushConfig(
  bad: Violations,
  config: TaskPushNotificationConfig,
  { tenant, taskId, webhooks }: { readonly tenant: string; readonly taskId: string; readonly webhooks: Webhooks },
): void {
  const at = "configuration.taskPushNotificationConfig.";
  if (config.taskId !== "" && config.taskId !== taskId) {
    bad.add(`${at}taskId`, "is not the task of the message: leave it out");
  }
  if (config.tenant !== "" && config.tenant !== tenant) bad.add(`${at}tenant`, "is not the tenant of the request: leave it out");
  checkPushConfig(bad, at, config, webhooks);
}

/** Get and Delete: a task and a configuration are named. */
export function validatePushName(request: { tenant: string; taskId: string; id: string }, options: ServiceOptions): void {
  const bad = new Violations();
  checkTenant(bad, request.tenant, options);
  if (request.taskId === "") bad.add("taskId", "is required: the id of a task");
  checkId(bad, "taskId", request.taskId);
  if (request.id === "") bad.add("id", "is required: the id of a push configuration");
  checkId(bad, "id", request.id);
  bad.throwIfAny();
}

/** List: a page of a size that is bounded as that of ListTasks; 0 is the default, as the field has no presence. */
export function validatePushList(request: ListTaskPushNotificationConfigsRequest, options: ServiceOptions): void {
  const bad = new Violations();
  checkTenant(bad, request.tenant, options);
  if (request.taskId === "") bad.add("taskId", "is required: the id of a task");
  checkId(bad, "taskId", request.taskId);
  if (request.pageSize < 0 || request.pageSize > PAGE_SIZE.maximum) {
    bad.add("pageSize", `is ${request.pageSize}; right is ${PAGE_SIZE.minimum} to ${PAGE_SIZE.maximum}`);
  }
  bad.throwIfAny();
}

function checkPushConfig(bad: Violations, at: string, config: TaskPushNotificationConfig, webhooks: Webhooks): void {
  const { id, url, token, authentication } = config;
  checkId(bad, `${at}id`, id);
  const problem = urlProblem(url) ?? webhooks.problemOf(url);
  if (problem !== undefined) bad.add(`${at}url`, problem);
  checkSecret(bad, `${at}token`, token);
  if (authentication === undefined) return;
  const { scheme, credentials } = authentication;
  if (scheme === "") bad.add(`${at}authentication.scheme`, "is required: the name of an HTTP authentication scheme, as Bearer");
  else if (scheme.length > MAX_SCHEME || !SCHEME.test(scheme)) {
    bad.add(`${at}authentication.scheme`, "is no name of an HTTP authentication scheme; right is one word, as Bearer");
  }
  checkSecret(bad, `${at}authentication.credentials`, credentials);
}

/** What is wrong with the form of a webhook's URL. */
function urlProblem(url: string): string | undefined {
  if (url === "") return "is required: an http or https URL";
  if (url.length > MAX_URL) return `is ${url.length} characters long; at most ${MAX_URL} are taken`;
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:\/\//i.test(url) || (parsed.protocol !== "http:" && parsed.protocol !== "https:")) {
    return "is no absolute http or https URL";
  }
  if (parsed.username !== "" || parsed.password !== "") return "has credentials in it: give them in authentication";
  return undefined;
}

function checkSecret(bad: Violations, field: string, secret: string): void {
  if (secret.length > MAX_SECRET) bad.add(field, `is ${secret.length} characters long; at most ${MAX_SECRET} are taken`);
  else if (!HEADER_TEXT.test(secret)) bad.add(field, "has characters that a header cannot carry; right are printable ASCII characters");
}
