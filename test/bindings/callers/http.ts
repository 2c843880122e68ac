/** Plain HTTP for the two bindings that use it: node:http and an SSE parser, nothing of ours. */
import { Agent, type IncomingMessage, request as httpRequest } from "node:http";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { createParser } from "eventsource-parser";
import type { StreamResponse } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { CallFailed, type Failure, type Headers, type Stream } from "./caller.ts";

/** One request. */
export interface HttpRequest {
  readonly method: string;
  readonly target: string;
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: string | Uint8Array | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A reply, read to its end. */
export interface HttpReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** How a caller uses its connections. */
export interface HttpClientOptions {
  readonly maxSockets?: number;
  /** A connection on which nothing comes for this long is given up. Default: never. */
  readonly idleMs?: number;
}

/** The connections of one caller. */
export class HttpClient {
  readonly #port: number;
  readonly #agent: Agent;
  readonly #idleMs: number;

  constructor(port: number, { maxSockets = Infinity, idleMs = 0 }: HttpClientOptions = {}) {
    this.#port = port;
    this.#agent = new Agent({ keepAlive: true, maxSockets });
    this.#idleMs = idleMs;
  }

  /** Sends a request; resolves with the head of its reply. */
  open({ method, target, headers = [], body, signal }: HttpRequest): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const request = httpRequest({ host: "127.0.0.1", port: this.#port, agent: this.#agent, method, path: target });
    for (const [name, value] of headers) request.appendHeader(name, value);
    if (this.#idleMs > 0) request.setTimeout(this.#idleMs, () => request.destroy(new Error("nothing came any more")));
    // Whoever reads the response sees its errors; a stream that was left is read by nobody.
    request.once("response", (response) => resolve(response.on("error", () => undefined))).on("error", reject);
    // Without an error of its own: node:http may have handed the socket back already, where nobody listens.
    signal?.addEventListener("abort", () => request.destroy(), { once: true });
    request.end(body);
    return promise;
  }

  async fetch(request: HttpRequest): Promise<HttpReply> {
    const response = await this.open(request);
    return { status: response.statusCode ?? 0, headers: headersOf(response), text: await textOf(response) };
  }

  close(): void {
    this.#agent.destroy();
  }
}

function headersOf(response: IncomingMessage): Headers {
  return new Map(Object.entries(response.headers).map(([name, value]) => [name, String(value)]));
}

export async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

/** The data of each event of a response, as it comes. */
export async function* eventData(response: IncomingMessage): AsyncGenerator<string, undefined> {
  const events: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => events.push(data) });
  response.setEncoding("utf8");
  for await (const chunk of response) {
    parser.feed(chunk as string);
    while (events.length > 0) yield events.shift() as string;
  }
}

/** How a binding reads a stream's reply. */
export interface StreamForm {
  /** A frame, or the failure that the event tells. */
  readonly event: (json: JsonObject) => StreamResponse | Failure;
  /** A reply that is no event stream. */
  readonly refusal: (json: JsonValue, status: number) => Failure;
}

/** A stream over SSE. */
export function sseStream(client: HttpClient, request: HttpRequest, form: StreamForm): Stream {
  const leave = new AbortController();
  const opened = Promise.withResolvers<Headers>();
  opened.promise.catch(() => undefined);
  const signal = request.signal === undefined ? leave.signal : AbortSignal.any([leave.signal, request.signal]);
  // Sent at once, as on gRPC, not when the first frame is asked for.
  const pending = client.open({ ...request, signal });
  pending.catch(() => undefined);
  async function* read(): AsyncGenerator<StreamResponse, undefined> {
    const response = await pending;
    const headers = headersOf(response);
    if (headers.get("content-type") !== "text/event-stream") {
      const failure = form.refusal(JSON.parse(await textOf(response)) as JsonValue, response.statusCode ?? 0);
      const error = new CallFailed(failure, headers);
      opened.reject(error);
      throw error;
    }
    opened.resolve(headers);
    for await (const data of eventData(response)) {
      const event = form.event(JSON.parse(data) as JsonObject);
      if (!("$typeName" in event)) throw new CallFailed(event, headers);
      yield event;
    }
  }
  return Object.assign(read(), { headers: opened.promise, leave: () => leave.abort() });
}
