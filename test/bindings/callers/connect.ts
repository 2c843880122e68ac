/** Calls by the Connect protocol: unary bodies, streams in envelopes. */
import { buffer } from "node:stream/consumers";
import type { JsonObject } from "@bufbuild/protobuf";
import {
  CallFailed,
  type Caller,
  type CallOptions,
  type Failure,
  type Headers,
  type Reply,
  requestHeaders,
  type Stream,
} from "./caller.ts";
import { readConnectDetails } from "./details.ts";
import { type Codec, encodeRequest, type Ending, envelope, envelopedStream, methodOf, pathOf, replyJson } from "./envelopes.ts";
import type { HttpRequest } from "./http.ts";
import type { OpenReply } from "./http2.ts";
import { type HttpVersion, type Wire, wireTo } from "./wire.ts";

/** How calls are written. */
export interface ConnectOptions {
  /** Default: binary. */
  readonly codec?: Codec;
  /** Default: 2. */
  readonly http?: HttpVersion;
}

export class ConnectCaller implements Caller {
  readonly binding = "connect";
  readonly wire: Wire;
  readonly #codec: Codec;

  constructor(port: number, { codec = "proto", http = 2 }: ConnectOptions = {}) {
    this.wire = wireTo(port, http);
    this.#codec = codec;
  }

  async unary(method: string, request: JsonObject = {}, options: CallOptions = {}): Promise<Reply> {
    const desc = methodOf(method);
    const contentType = `application/${this.#codec}`;
    const reply = await this.wire.open(toHttp(method, contentType, encodeRequest(desc, this.#codec, request, options), options));
    const { status, headers, body } = reply;
    if (status !== 200 || headers.get("content-type") !== contentType) throw new CallFailed(await connectFailure(reply), headers);
    return { message: replyJson(desc, this.#codec, await buffer(body)), headers };
  }

  stream(method: string, request: JsonObject = {}, options: CallOptions = {}): Stream {
    const contentType = `application/connect+${this.#codec}`;
    const body = envelope(encodeRequest(methodOf(method), this.#codec, request, options));
    return envelopedStream(this.wire, toHttp(method, contentType, body, options), contentType, this.#codec, CONNECT_ENDING);
  }

  close(): void {
    this.wire.close();
  }
}

function toHttp(method: string, contentType: string, body: Buffer, options: CallOptions): HttpRequest {
  return {
    method: "POST",
    target: `${pathOf(method)}${options.query === undefined ? "" : `?${options.query}`}`,
    headers: [...requestHeaders(options), ["content-type", contentType], ["connect-protocol-version", "1"]],
    body,
    signal: options.signal,
  };
}

/** How a stream ends. */
export const CONNECT_ENDING: Ending = {
  isLast: (flags) => flags === 2,
  read(bytes) {
    const { error, metadata = {} } = JSON.parse(bytes.toString("utf8")) as {
      error?: ConnectErrorJson;
      metadata?: Record<string, string[]>;
    };
    const trailers: Headers = new Map(Object.entries(metadata).map(([name, values]) => [name, values.join(", ")]));
    return { failure: error && failureOf(error), trailers };
  },
  refusal: connectFailure,
};

/** An error of Connect, as its JSON has it. */
interface ConnectErrorJson {
  readonly code: string;
  readonly message?: string;
  readonly details?: { readonly type: string; readonly value: string }[];
}

/** Connect's names of gRPC's codes, by number. */
const CODES = [
  "",
  "canceled",
  "unknown",
  "invalid_argument",
  "deadline_exceeded",
  "not_found",
  "already_exists",
  "permission_denied",
  "resource_exhausted",
  "failed_precondition",
  "aborted",
  "out_of_range",
  "unimplemented",
  "internal",
  "unavailable",
  "data_loss",
  "unauthenticated",
];

function failureOf({ code, message = "", details = [] }: ConnectErrorJson, httpStatus?: number): Failure {
  return { ...readConnectDetails(details), code: CODES.indexOf(code), httpStatus, message };
}

/** The failure that the body of a unary call tells. */
export async function connectFailure({ status, headers, body }: OpenReply): Promise<Failure> {
  const text = (await buffer(body)).toString("utf8");
  const json = headers.get("content-type") === "application/json" ? (JSON.parse(text) as Partial<ConnectErrorJson>) : {};
  if (json.code === undefined) throw new Error(`no error of Connect: ${status} ${text}`);
  return failureOf({ ...json, code: json.code }, status);
}
