/** gRPC as the suites do it: the card's URL is the channel's target, messages are read as ProtoJSON. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { StreamResponse } from "../../../../gen/lf/a2a/v1/a2a_pb.ts";
import { CallFailed, frameJson, type Stream } from "../../../bindings/callers/caller.ts";
import { GrpcCaller } from "../../../bindings/callers/grpc.ts";
import { type ListQuery, type SuiteClient, SuiteError, type SuiteHeaders } from "./client.ts";

export class GrpcSuiteClient implements SuiteClient {
  readonly transport = "grpc";
  readonly #caller: GrpcCaller;
  readonly #headers: SuiteHeaders;

  /** `url` is `host:port`, without a scheme (C-48). */
  constructor(url: string, headers: SuiteHeaders = {}) {
    const [, port] = /^127\.0\.0\.1:(\d+)$/.exec(url) ?? [];
    if (port === undefined) throw new TypeError(`${url} is not host:port of this machine`);
    this.#caller = new GrpcCaller(Number(port));
    this.#headers = headers;
  }

  send(message: JsonObject, configuration?: JsonObject): Promise<JsonObject> {
    return this.#call("SendMessage", { message, ...(configuration && { configuration }) });
  }

  stream(message: JsonObject, configuration?: JsonObject): AsyncGenerator<JsonObject> {
    return this.#events("SendStreamingMessage", { message, ...(configuration && { configuration }) });
  }

  getTask(id: string, historyLength?: number): Promise<JsonObject> {
    return this.#call("GetTask", { id, ...(historyLength !== undefined && { historyLength }) });
  }

  listTasks(query: ListQuery): Promise<JsonObject> {
    return this.#call("ListTasks", { ...query });
  }

  cancelTask(id: string): Promise<JsonObject> {
    return this.#call("CancelTask", { id });
  }

  subscribe(id: string): AsyncGenerator<JsonObject> {
    return this.#events("SubscribeToTask", { id });
  }

  createPush(taskId: string, config: JsonObject): Promise<JsonObject> {
    return this.#call("CreateTaskPushNotificationConfig", { taskId, ...config });
  }

  getPush(taskId: string, id: string): Promise<JsonObject> {
    return this.#call("GetTaskPushNotificationConfig", { taskId, id });
  }

  listPush(taskId: string): Promise<JsonObject> {
    return this.#call("ListTaskPushNotificationConfigs", { taskId });
  }

  async deletePush(taskId: string, id: string): Promise<void> {
    await this.#call("DeleteTaskPushNotificationConfig", { taskId, id });
  }

  extendedCard(): Promise<JsonObject> {
    return this.#call("GetExtendedAgentCard", {});
  }

  close(): void {
    this.#caller.close();
  }

  async #call(method: string, request: JsonObject): Promise<JsonObject> {
    try {
      return (await this.#caller.unary(method, request, { headers: this.#headers })).message;
    } catch (error) {
      throw suiteError(error);
    }
  }

  async *#events(method: string, request: JsonObject): AsyncGenerator<JsonObject> {
    const stream: Stream = this.#caller.stream(method, request, { headers: this.#headers });
    try {
      for await (const frame of stream as AsyncIterable<StreamResponse>) yield frameJson(frame);
    } catch (error) {
      throw suiteError(error);
    } finally {
      stream.leave();
    }
  }
}

function suiteError(error: unknown): unknown {
  if (!(error instanceof CallFailed)) return error;
  return new SuiteError(error.failure.reason, error.failure.code, error.failure.message);
}
