/** HTTP+JSON as the suites do it: application/json, names in camelCase, and no body where there is nothing to say. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { HttpReply } from "../../../bindings/callers/http.ts";
import { type ListQuery, reasonIn, type SuiteClient, SuiteError, type SuiteHeaders } from "./client.ts";
import { SuiteHttp, type SuiteRequest } from "./http.ts";

export class RestSuiteClient implements SuiteClient {
  readonly transport = "http_json";
  readonly #url: string;
  readonly #headers: SuiteHeaders;
  readonly #http: SuiteHttp;

  constructor(url: string, headers: SuiteHeaders = {}) {
    this.#url = url;
    this.#headers = headers;
    this.#http = new SuiteHttp(url);
  }

  send(message: JsonObject, configuration?: JsonObject): Promise<JsonObject> {
    return this.#call("POST", "/message:send", { message, ...(configuration && { configuration }) });
  }

  stream(message: JsonObject, configuration?: JsonObject): AsyncGenerator<JsonObject> {
    return this.#events("POST", "/message:stream", { message, ...(configuration && { configuration }) });
  }

  getTask(id: string, historyLength?: number): Promise<JsonObject> {
    return this.#call("GET", `/tasks/${id}${historyLength === undefined ? "" : `?historyLength=${historyLength}`}`);
  }

  listTasks(query: ListQuery): Promise<JsonObject> {
    const given = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) given.set(name, String(value));
    return this.#call("GET", `/tasks?${given.toString()}`);
  }

  cancelTask(id: string): Promise<JsonObject> {
    return this.#call("POST", `/tasks/${id}:cancel`);
  }

  subscribe(id: string): AsyncGenerator<JsonObject> {
    return this.#events("POST", `/tasks/${id}:subscribe`);
  }

  createPush(taskId: string, config: JsonObject): Promise<JsonObject> {
    return this.#call("POST", `/tasks/${taskId}/pushNotificationConfigs`, config);
  }

  getPush(taskId: string, id: string): Promise<JsonObject> {
    return this.#call("GET", `/tasks/${taskId}/pushNotificationConfigs/${id}`);
  }

  listPush(taskId: string): Promise<JsonObject> {
    return this.#call("GET", `/tasks/${taskId}/pushNotificationConfigs`);
  }

  async deletePush(taskId: string, id: string): Promise<void> {
    await this.#call("DELETE", `/tasks/${taskId}/pushNotificationConfigs/${id}`);
  }

  extendedCard(): Promise<JsonObject> {
    return this.#call("GET", "/extendedAgentCard");
  }

  close(): void {
    this.#http.close();
  }

  /** As the suites' raw calls do: a body of any type. */
  raw(path: string, body: string, headers: SuiteHeaders = {}): Promise<HttpReply> {
    return this.#http.fetch({ ...this.#request("POST", path, undefined, headers), body });
  }

  async #call(method: string, path: string, body?: JsonObject): Promise<JsonObject> {
    const reply = await this.#http.fetch(this.#request(method, path, body));
    if (reply.status >= 400) failed(reply);
    return reply.text === "" ? {} : (JSON.parse(reply.text) as JsonObject);
  }

  async *#events(method: string, path: string, body?: JsonObject): AsyncGenerator<JsonObject> {
    for await (const event of this.#http.events(this.#request(method, path, body), failed)) {
      if ("error" in event) failed({ status: 200, headers: new Map(), text: JSON.stringify(event) });
      yield event;
    }
  }

  #request(method: string, path: string, body?: JsonObject, headers: SuiteHeaders = {}): SuiteRequest {
    const posted = method === "POST" ? { "content-type": "application/json" } : {};
    return {
      method,
      url: `${this.#url}${path}`,
      headers: { ...posted, "a2a-version": "1.0", ...this.#headers, ...headers },
      body: body && JSON.stringify(body),
    };
  }
}

function failed({ status, text }: HttpReply): never {
  const { error } = JSON.parse(text) as { error: { message: string; details: JsonObject[] } };
  throw new SuiteError(reasonIn(error.details), status, error.message);
}
