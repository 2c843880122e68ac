/** JSON-RPC as the suites do it: posted to the URL with a slash behind it, parameters by the names of the proto where Python has them. */
import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { HttpReply } from "../../../bindings/callers/http.ts";
import { type ListQuery, reasonIn, type SuiteClient, SuiteError, type SuiteHeaders } from "./client.ts";
import { SuiteHttp, type SuiteRequest } from "./http.ts";

export class JsonRpcSuiteClient implements SuiteClient {
  readonly transport = "jsonrpc";
  readonly #url: string;
  readonly #headers: SuiteHeaders;
  readonly #http: SuiteHttp;
  #calls = 0;

  constructor(url: string, headers: SuiteHeaders = {}) {
    this.#url = url;
    this.#headers = headers;
    this.#http = new SuiteHttp(url);
  }

  send(message: JsonObject, configuration?: JsonObject): Promise<JsonObject> {
    return this.#call("SendMessage", { message, ...(configuration && { configuration }) });
  }

  stream(message: JsonObject, configuration?: JsonObject): AsyncGenerator<JsonObject> {
    return this.#events("SendStreamingMessage", { message, ...(configuration && { configuration }) });
  }

  getTask(id: string, historyLength?: number): Promise<JsonObject> {
    return this.#call("GetTask", { id, ...(historyLength !== undefined && { history_length: historyLength }) });
  }

  listTasks({ contextId, pageSize, includeArtifacts }: ListQuery): Promise<JsonObject> {
    return this.#call("ListTasks", {
      context_id: contextId,
      ...(pageSize !== undefined && { page_size: pageSize }),
      ...(includeArtifacts !== undefined && { include_artifacts: includeArtifacts }),
    });
  }

  cancelTask(id: string): Promise<JsonObject> {
    return this.#call("CancelTask", { id });
  }

  subscribe(id: string): AsyncGenerator<JsonObject> {
    return this.#events("SubscribeToTask", { id });
  }

  createPush(taskId: string, config: JsonObject): Promise<JsonObject> {
    return this.#call("CreateTaskPushNotificationConfig", { task_id: taskId, ...config });
  }

  getPush(taskId: string, id: string): Promise<JsonObject> {
    return this.#call("GetTaskPushNotificationConfig", { task_id: taskId, id });
  }

  listPush(taskId: string): Promise<JsonObject> {
    return this.#call("ListTaskPushNotificationConfigs", { task_id: taskId });
  }

  async deletePush(taskId: string, id: string): Promise<void> {
    await this.#call("DeleteTaskPushNotificationConfig", { task_id: taskId, id });
  }

  extendedCard(): Promise<JsonObject> {
    return this.#call("GetExtendedAgentCard", {});
  }

  close(): void {
    this.#http.close();
  }

  /** As the suites' raw calls do: any body, to the URL without the slash. */
  raw(body: string, headers: SuiteHeaders = {}): Promise<HttpReply> {
    return this.#http.fetch({
      method: "POST",
      url: this.#url,
      headers: { "content-type": "application/json", "a2a-version": "1.0", ...headers },
      body,
    });
  }

  async #call(method: string, params: JsonObject): Promise<JsonObject> {
    const { text } = await this.#http.fetch(this.#request(method, params));
    return this.#result(JSON.parse(text) as JsonValue);
  }

  async *#events(method: string, params: JsonObject): AsyncGenerator<JsonObject> {
    const request = this.#request(method, params);
    const refused = ({ text }: HttpReply): never => {
      this.#result(JSON.parse(text) as JsonValue);
      return assert.fail(`a result that is no event stream: ${text}`);
    };
    for await (const event of this.#http.events(request, refused)) yield this.#result(event);
  }

  #request(method: string, params: JsonObject): SuiteRequest {
    this.#calls += 1;
    return {
      method: "POST",
      url: `${this.#url}/`,
      headers: { "content-type": "application/json", "a2a-version": "1.0", ...this.#headers },
      body: JSON.stringify({ jsonrpc: "2.0", id: this.#calls, method, params }),
    };
  }

  #result(reply: JsonValue): JsonObject {
    const { jsonrpc, result, error } = reply as JsonObject;
    assert.equal(jsonrpc, "2.0");
    if (error === undefined) return result as JsonObject;
    const { code, message, data } = error as { code: number; message: string; data?: JsonValue };
    throw new SuiteError(reasonIn(data), code, message);
  }
}
