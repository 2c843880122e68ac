/** gRPC, frame by frame over a bare HTTP/2 session. */
import assert from "node:assert/strict";
import { type ClientHttp2Session, connect, constants, type IncomingHttpHeaders } from "node:http2";
import { createRegistry, type DescMethod, fromBinary, type JsonObject, toJson } from "@bufbuild/protobuf";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.ts";
import { type Failure, readDetails } from "../../bindings/callers/caller.ts";
import { type Answer, type BinarySurface, onOneLine } from "../surface.ts";

const DETAILS = createRegistry(ErrorInfoSchema, BadRequestSchema, RetryInfoSchema);

/** A call as HTTP/2 carried it. */
export interface GrpcReply {
  readonly headers: IncomingHttpHeaders;
  /** The trailers, or the head where it was all that came. */
  readonly trailers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** What goes with a call. */
export interface GrpcRequest {
  readonly path: string;
  /** What is written, each piece by itself; the stream is ended after them. */
  readonly chunks: readonly Uint8Array[];
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}

/** One connection for calls of any shape. */
export class GrpcWire {
  readonly session: ClientHttp2Session;

  constructor(port: number) {
    this.session = connect(`http://127.0.0.1:${port}`);
  }

  async call({ path, chunks, headers = {} }: GrpcRequest): Promise<GrpcReply> {
    const stream = this.session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      "a2a-version": "1.0",
      ...headers,
    });
    let head: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders | undefined;
    stream.on("response", (block) => (head = block));
    stream.on("trailers", (block) => (trailers = block));
    // A server that has answered may reset what is still being sent.
    stream.on("error", (error: NodeJS.ErrnoException) => assert.equal(error.code, "ERR_HTTP2_STREAM_ERROR"));
    for (const chunk of chunks) stream.write(chunk);
    stream.end();
    const body: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => body.push(chunk));
    await new Promise((resolve) => stream.once("close", resolve));
    assert.ok([constants.NGHTTP2_NO_ERROR, constants.NGHTTP2_CANCEL].includes(stream.rstCode), `reset with ${stream.rstCode}`);
    return { headers: head, trailers: trailers ?? head, body: Buffer.concat(body) };
  }

  close(): void {
    this.session.close();
  }
}

/** A message behind its prefix: not compressed, so many bytes. */
export function framed(message: Uint8Array, flag = 0, length: number = message.length): Buffer {
  const prefix = Buffer.alloc(5, flag);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, message]);
}

/** The path of a method. */
function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

/** Everything of a reply as text, details decoded. What is data stands on one line: only blocks have lines that a text could bring in. */
export function receivedOf({ headers, trailers, body }: GrpcReply): string {
  const lines = [headers, trailers].flatMap((block) => Object.entries(block).map(([name, value]) => `${name}: ${String(value)}`));
  return [...lines, onOneLine(JSON.stringify(statusOf(trailers) ?? null)), onOneLine(body.toString("latin1"))].join("\n");
}

/** The failure that the trailers tell; undefined for OK. */
export function failureOf({ trailers }: GrpcReply): Failure | undefined {
  const code = Number(trailers["grpc-status"]);
  assert.ok(Number.isInteger(code), `no grpc-status: ${JSON.stringify(trailers)}`);
  if (code === 0) return undefined;
  const message = decodeURIComponent(String(trailers["grpc-message"] ?? ""));
  return { ...readDetails((statusOf(trailers)?.["details"] ?? []) as JsonObject[]), code, httpStatus: undefined, message };
}

function statusOf(trailers: IncomingHttpHeaders): JsonObject | undefined {
  const bytes = trailers["grpc-status-details-bin"];
  if (bytes === undefined) return undefined;
  return toJson(StatusSchema, fromBinary(StatusSchema, Buffer.from(String(bytes), "base64")), { registry: DETAILS }) as JsonObject;
}

export class GrpcSurface implements BinarySurface {
  readonly name = "gRPC";
  readonly binding = "grpc";
  readonly wire: GrpcWire;

  constructor(port: number) {
    this.wire = new GrpcWire(port);
  }

  async send(method: DescMethod, request: Uint8Array, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const reply = await this.wire.call({ path: pathOf(method), chunks: [framed(request)], headers });
    return { failure: failureOf(reply), received: receivedOf(reply) };
  }

  close(): void {
    this.wire.close();
  }
}
