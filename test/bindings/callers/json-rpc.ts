/** Calls by JSON-RPC 2.0 with SSE. */
import assert from "node:assert/strict";
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

export class JsonRpcCaller implements Caller {
  readonly binding = "json-rpc";
  readonly http: HttpClient;
  #calls = 0;

  constructor(port: number, options: HttpClientOptions = {}) {
    this.http = new HttpClient(port, options);
  }

  async unary(method: string, request: JsonObject = {}, options: CallOptions = {}): Promise<Reply> {
    const id = `call-${++this.#calls}`;
    const { status, headers, text } = await this.http.fetch(toHttp(id, method, request, options));
    const json = JSON.parse(text) as JsonObject;
    if ("error" in json) throw new CallFailed(failureOf(json, status), headers);
    assert.equal(json["id"], id);
    assert.equal(status, 200);
    const { output } = A2AService.methods.find(({ name }) => name === method) as (typeof A2AService.methods)[number];
    return { message: toJson(output, fromJson(output, json["result"] as JsonValue)) as JsonObject, headers };
  }

  stream(method: string, request: JsonObject = {}, options: CallOptions = {}): Stream {
    const id = ++this.#calls;
    return sseStream(this.http, toHttp(id, method, request, options), {
      event: (json) => {
        assert.equal(json["jsonrpc"], "2.0");
        assert.equal(json["id"], id);
        return "error" in json ? failureOf(json) : readFrame(json["result"] as JsonValue);
      },
      refusal: failureOf,
    });
  }

  close(): void {
    this.http.close();
  }
}

function toHttp(id: string | number, method: string, request: JsonObject, options: CallOptions): HttpRequest {
  const params = options.pathTenant === undefined ? request : { ...request, tenant: options.pathTenant };
  return {
    method: "POST",
    target: `/jsonrpc${options.query === undefined ? "" : `?${options.query}`}`,
    headers: [...requestHeaders(options), ["content-type", "application/json"]],
    body: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
    signal: options.signal,
  };
}

/** The failure that a JSON-RPC error object tells. */
function failureOf(json: JsonValue, httpStatus?: number): Failure {
  const { code, message, data } = (json as { error: JsonObject }).error;
  return { ...readDetails((data ?? []) as JsonObject[]), code: code as number, httpStatus, message: message as string };
}
