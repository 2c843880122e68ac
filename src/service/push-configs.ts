/** Configurations of webhooks: the four operations, and what comes along with a send (R-093 to R-107, C-22, C-27, C-62, C-63). */
import { create } from "@bufbuild/protobuf";
import {
  type DeleteTaskPushNotificationConfigRequest,
  type GetTaskPushNotificationConfigRequest,
  type ListTaskPushNotificationConfigsRequest,
  type TaskPushNotificationConfig,
  TaskPushNotificationConfigSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Delivery } from "../core/deliveries.ts";
import { invalidArgument, TaskError, taskNotFound } from "../core/errors.ts";
import { pageToken, parsePageToken } from "../core/page-token.ts";
import type { PushConfigRequest, StoredPushConfig } from "../core/push-configs.ts";
import { type Scope, scopeKey } from "../core/scope.ts";
import type { Storage } from "../core/storage.ts";
import { uuidv7 } from "../core/uuid.ts";
import { PAGE_SIZE } from "../rpc/field-bounds.ts";
import type { ServiceOptions } from "./options.ts";
import type { Webhooks } from "./webhooks.ts";
import { validatePushConfig, validatePushList, validatePushName } from "./validate-push.ts";

/** What the operations need. */
interface PushInit {
  readonly storage: Storage;
  readonly options: ServiceOptions;
  readonly webhooks: Webhooks;
}

/** Throws where the capability is off: before anything is judged or looked up. */
export function requirePush({ push }: ServiceOptions): void {
  if (!push.enabled) throw new TaskError("PUSH_NOTIFICATION_NOT_SUPPORTED", "this agent sends no push notifications");
}

/** The four operations. */
export class PushConfigOperations {
  readonly #init: PushInit;

  constructor(init: PushInit) {
    this.#init = init;
  }

  /** Registers a webhook; the same id again takes the place of the first (C-62). */
  async create(request: TaskPushNotificationConfig, scope: Scope): Promise<TaskPushNotificationConfig> {
    const { storage, options, webhooks } = this.#init;
    validatePushConfig(request, options, webhooks);
    await this.#requireTask(request.taskId, scope);
    const config = pushConfigOf(request, request.taskId, scope, this.#init);
    await storage.setPushConfig(request.taskId, config);
    return this.#shown(request.taskId, config);
  }

  /** A webhook, and how far it is: {@link DELIVERY_HEADER} of its reply. */
  async get(
    request: GetTaskPushNotificationConfigRequest,
    scope: Scope,
  ): Promise<{ readonly config: TaskPushNotificationConfig; readonly delivery: string }> {
    const { taskId, id } = request;
    validatePushName(request, this.#init.options);
    await this.#requireTask(taskId, scope);
    const delivery = (await this.#init.storage.deliveriesOf(taskId)).find(({ config }) => config.id === id);
    if (delivery !== undefined) return { config: this.#shown(taskId, delivery.config), delivery: progressOf(delivery) };
    throw new TaskError("TASK_NOT_FOUND", "the task has no such push configuration", { metadata: { taskId, configId: id } });
  }

  /** One page, in the order of the ids. */
  async list(
    request: ListTaskPushNotificationConfigsRequest,
    scope: Scope,
  ): Promise<{ configs: TaskPushNotificationConfig[]; nextPageToken: string }> {
    const { taskId } = request;
    validatePushList(request, this.#init.options);
    const after = request.pageToken === "" ? "" : parsePageToken(request.pageToken, taskId);
    if (after === undefined) {
      throw invalidArgument({ field: "pageToken", description: "is not a token of this list: use nextPageToken as it came" });
    }
    await this.#requireTask(taskId, scope);
    const rest = (await this.#init.storage.pushConfigs(taskId)).filter(({ id }) => id > after);
    const page = rest.slice(0, request.pageSize || PAGE_SIZE.default);
    const nextPageToken = page.length < rest.length ? pageToken(page.at(-1)?.id ?? "", taskId) : "";
    return { configs: page.map((config) => this.#shown(taskId, config)), nextPageToken };
  }

  /** Removes a webhook for good. One that is not there is removed already. */
  async delete(request: DeleteTaskPushNotificationConfigRequest, scope: Scope): Promise<void> {
    validatePushName(request, this.#init.options);
    await this.#requireTask(request.taskId, scope);
    await this.#init.storage.deletePushConfig(request.taskId, request.id);
  }

  async #requireTask(taskId: string, scope: Scope): Promise<void> {
    const meta = await this.#init.storage.meta(taskId);
    if (meta === undefined || scopeKey(meta.scope) !== scopeKey(scope)) throw taskNotFound(taskId);
  }

  /** As callers see it: whoever may see the task sees its webhooks whole, unless the operator says otherwise (C-64). */
  #shown(taskId: string, stored: StoredPushConfig): TaskPushNotificationConfig {
    const config = this.#init.webhooks.decode(taskId, stored);
    if (!this.#init.options.push.redact) return config;
    config.token = "";
    if (config.authentication !== undefined) config.authentication.credentials = "";
    return config;
  }
}

/** Response header, and gRPC initial metadata, that says how far a webhook is: a dictionary of RFC 9651. */
export const DELIVERY_HEADER = "throughline-delivery";

function progressOf({ is, acknowledged, failures, cause, waitMs }: Delivery): string {
  const { offset } = acknowledged;
  const text = cause.replace(/[^\x20-\x7e]/g, "?").replace(/["\\]/g, "\\$&");
  const members = [`state=${is}`, `acknowledged=${offset}`, `failures=${failures}`];
  if (waitMs > 0) members.push(`retry-in=${Math.ceil(waitMs / 1000)}`);
  if (text !== "") members.push(`cause="${text}"`);
  return members.join(", ");
}

/** The configuration as it is stored with its task. One without an id gets one. */
export function pushConfigOf(
  given: TaskPushNotificationConfig,
  taskId: string,
  { tenant }: Scope,
  { options, webhooks }: Pick<PushInit, "options" | "webhooks">,
): PushConfigRequest {
  const id = given.id || uuidv7(Date.now());
  const config = create(TaskPushNotificationConfigSchema, { ...given, id, taskId, tenant });
  return { ...webhooks.encode(taskId, config), most: options.push.maxConfigs };
}
