/** Calls by HTTP+JSON. The table of routes is written out here: it must not be the one under test. */
import { fromJson, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import {
  CallFailed,
  type Caller,
  type CallOptions,
  type Failure,
  readDetails,
  readFrame,
  type Reply,
  requestHeaders,
  type Stream,
} from "./caller.ts";
import { HttpClient, type HttpClientOptions, type HttpRequest, sseStream } from "./http.ts";

type Route = readonly [method: string, path: string];

/** Verb and path of each method. */
export const ROUTES: Readonly<Record<string, Route>> = {
  SendMessage: ["POST", "/message:send"],
  SendStreamingMessage: ["POST", "/message:stream"],
  GetTask: ["GET", "/tasks/{id}"],
  ListTasks: ["GET", "/tasks"],
  CancelTask: ["POST", "/tasks/{id}:cancel"],
  SubscribeToTask: ["POST", "/tasks/{id}:subscribe"],
  CreateTaskPushNotificationConfig: ["POST", "/tasks/{taskId}/pushNotificationConfigs"],
  GetTaskPushNotificationConfig: ["GET", "/tasks/{taskId}/pushNotificationConfigs/{id}"],
  ListTaskPushNotificationConfigs: ["GET", "/tasks/{taskId}/pushNotificationConfigs"],
  DeleteTaskPushNotificationConfig: ["DELETE", "/tasks/{taskId}/pushNotificationConfigs/{id}"],
  GetExtendedAgentCard: ["GET", "/extendedAgentCard"],
};

/** How SubscribeToTask is called: the proto says GET, the prose POST (C-01). */
export type SubscribeVerb = "GET" | "POST";

/** Where the routes are, and how connections are used. */
interface RestOptions extends HttpClientOptions {
  readonly prefix?: string;
  readonly subscribe?: SubscribeVerb;
}

export class RestCaller implements Caller {
  readonly binding = "rest";
  readonly http: HttpClient;
  readonly #prefix: string;
  readonly #subscribe: SubscribeVerb;

  constructor(port: number, { prefix = "", subscribe = "POST", ...http }: RestOptions = {}) {
    this.http = new HttpClient(port, http);
    this.#prefix = prefix;
    this.#subscribe = subscribe;
  }

  async unary(method: string, request: JsonObject = {}, options: CallOptions = {}): Promise<Reply> {
    const { status, headers, text } = await this.http.fetch(this.#request(method, request, options));
    const json = JSON.parse(text) as JsonValue;
    if (status !== 200) throw new CallFailed(failureOf(json, status), headers);
    const { output } = A2AService.methods.find(({ name }) => name === method) as (typeof A2AService.methods)[number];
    return { message: toJson(output, fromJson(output, json)) as JsonObject, headers };
  }

  stream(method: string, request: JsonObject = {}, options: CallOptions = {}): Stream {
    return sseStream(this.http, this.#request(method, request, options), {
      event: (json) => ("error" in json ? failureOf(json) : readFrame(json)),
      refusal: failureOf,
    });
  }

  close(): void {
    this.http.close();
  }

  #request(name: string, request: JsonObject, options: CallOptions): HttpRequest {
    const [declared, template] = ROUTES[name] as Route;
    const method = name === "SubscribeToTask" ? this.#subscribe : declared;
    const rest = { ...request };
    const path = template.replace(/\{(\w+)\}/g, (_, field: string) => {
      const value = rest[field] ?? "";
      delete rest[field];
      return encodeURIComponent(value as string);
    });
    const tenant = options.pathTenant === undefined ? "" : `/${encodeURIComponent(options.pathTenant)}`;
    const query = new URLSearchParams(options.query);
    const hasBody = method === "POST";
    if (!hasBody)
      for (const [field, value] of Object.entries(rest)) query.append(field, typeof value === "string" ? value : JSON.stringify(value));
    const target = `${this.#prefix}${tenant}${path}${query.size > 0 ? `?${query.toString()}` : ""}`;
    const headers = [...requestHeaders(options), ...(hasBody ? ([["content-type", "application/a2a+json"]] as const) : [])];
    return { method, target, headers, body: hasBody ? JSON.stringify(rest) : undefined, signal: options.signal };
  }
}

/** The failure that `google.rpc.Status` under `error` tells. */
function failureOf(json: JsonValue, httpStatus?: number): Failure {
  const { code, message, details } = (json as { error: JsonObject }).error;
  return { ...readDetails(details as JsonObject[]), code: code as number, httpStatus, message: message as string };
}
