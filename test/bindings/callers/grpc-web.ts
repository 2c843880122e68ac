/** Calls by gRPC-Web: everything in envelopes, the trailers in the last. */
import { buffer } from "node:stream/consumers";
import type { JsonObject } from "@bufbuild/protobuf";
import { type Caller, type CallOptions, type Failure, type Headers, type Reply, requestHeaders, type Stream } from "./caller.ts";
import { readStatus } from "./details.ts";
import { type Codec, encodeRequest, type Ending, envelope, envelopedStream, messagesOf, methodOf, pathOf, replyJson } from "./envelopes.ts";
import type { HttpRequest } from "./http.ts";
import { type HttpVersion, type Wire, wireTo } from "./wire.ts";

/** How calls are written. */
export interface GrpcWebOptions {
  /** Default: binary. */
  readonly codec?: Codec;
  /** Default: 1.1. */
  readonly http?: HttpVersion;
}

export class GrpcWebCaller implements Caller {
  readonly binding = "grpc-web";
  readonly wire: Wire;
  readonly #codec: Codec;
  readonly #contentType: string;

  constructor(port: number, { codec = "proto", http = 1 }: GrpcWebOptions = {}) {
    this.wire = wireTo(port, http);
    this.#codec = codec;
    this.#contentType = `application/grpc-web+${codec}`;
  }

  async unary(method: string, request: JsonObject = {}, options: CallOptions = {}): Promise<Reply> {
    const reply = await this.wire.open(this.#toHttp(method, request, options));
    const messages: Buffer[] = [];
    for await (const bytes of messagesOf(reply, this.#contentType, GRPC_WEB_ENDING)) messages.push(bytes);
    const [bytes] = messages;
    if (bytes === undefined || messages.length > 1) throw new Error(`${messages.length} messages in a unary reply`);
    return { message: replyJson(methodOf(method), this.#codec, bytes), headers: reply.headers };
  }

  stream(method: string, request: JsonObject = {}, options: CallOptions = {}): Stream {
    return envelopedStream(this.wire, this.#toHttp(method, request, options), this.#contentType, this.#codec, GRPC_WEB_ENDING);
  }

  close(): void {
    this.wire.close();
  }

  #toHttp(method: string, request: JsonObject, options: CallOptions): HttpRequest {
    return {
      method: "POST",
      target: `${pathOf(method)}${options.query === undefined ? "" : `?${options.query}`}`,
      headers: [...requestHeaders(options), ["content-type", this.#contentType], ["x-grpc-web", "1"]],
      body: envelope(encodeRequest(methodOf(method), this.#codec, request, options)),
      signal: options.signal,
    };
  }
}

/** How a reply ends. */
export const GRPC_WEB_ENDING: Ending = {
  isLast: (flags) => flags === 128,
  read(bytes) {
    const lines = bytes.toString("utf8").split("\r\n").slice(0, -1);
    const trailers: Headers = new Map(lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]));
    return { failure: failureOf(trailers), trailers };
  },
  async refusal({ status, body }) {
    throw new Error(`no reply of gRPC-Web: ${status} ${(await buffer(body)).toString("utf8")}`);
  },
};

function failureOf(trailers: Headers): Failure | undefined {
  const code = Number(trailers.get("grpc-status"));
  if (code === 0) return undefined;
  const details = trailers.get("grpc-status-details-bin");
  const message = decodeURIComponent(trailers.get("grpc-message") ?? "");
  return { ...readStatus(details === undefined ? undefined : Buffer.from(details, "base64")), code, httpStatus: undefined, message };
}
