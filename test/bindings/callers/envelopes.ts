/** Calls in envelopes, as Connect's streams and gRPC-Web have them. */
import type { Readable } from "node:stream";
import { fromBinary, fromJson, type JsonObject, type JsonValue, type DescMethod, type Message, toBinary, toJson } from "@bufbuild/protobuf";
import { A2AService, type StreamResponse } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { CallFailed, type CallOptions, type Failure, type Headers, type Stream } from "./caller.ts";
import type { HttpRequest } from "./http.ts";
import type { OpenReply } from "./http2.ts";
import type { Wire } from "./wire.ts";

/** How messages are written. */
export type Codec = "proto" | "json";

/** One envelope of a reply. */
export interface Envelope {
  readonly flags: number;
  readonly bytes: Buffer;
}

/** Puts bytes into an envelope. */
export function envelope(bytes: Uint8Array, flags = 0): Buffer {
  const head = Buffer.alloc(5, flags);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

/** The envelopes of a body, as they come. Throws where the last one is not whole. */
async function* envelopesOf(body: Readable): AsyncGenerator<Envelope, undefined> {
  let rest = Buffer.alloc(0);
  for await (const chunk of body) {
    rest = Buffer.concat([rest, chunk as Buffer]);
    while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
      const end = 5 + rest.readUInt32BE(1);
      yield { flags: rest[0] as number, bytes: rest.subarray(5, end) };
      rest = rest.subarray(end);
    }
  }
  if (rest.length > 0) throw new Error(`the body was cut ${rest.length} bytes into an envelope`);
}

/** All envelopes of a body. */
export async function allEnvelopes(body: Readable): Promise<Envelope[]> {
  const all: Envelope[] = [];
  for await (const one of envelopesOf(body)) all.push(one);
  return all;
}

/** The path of a method. */
export function pathOf(method: string): string {
  return `/${A2AService.typeName}/${method}`;
}

/** The descriptor of a method. */
export function methodOf(name: string): DescMethod {
  const method = A2AService.methods.find((one) => one.name === name);
  if (method === undefined) throw new TypeError(`no method ${name}`);
  return method;
}

/** A call by hand. */
export interface PostedCall {
  readonly method: string;
  readonly type: string;
  readonly body: Uint8Array | string;
  /** Beside the version and the type. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Posts bytes to a method. */
export function postCall(wire: Wire, { method, type, body, headers }: PostedCall): Promise<OpenReply> {
  const all = { "a2a-version": "1.0", "content-type": type, ...headers };
  return wire.open({ method: "POST", target: pathOf(method), headers: Object.entries(all), body });
}

/** A request's message as it is sent; a tenant of the path stands in the message. */
export function encodeRequest(method: DescMethod, codec: Codec, request: JsonObject, { pathTenant }: CallOptions = {}): Buffer {
  const json: JsonObject = pathTenant === undefined ? request : { ...request, tenant: pathTenant };
  if (codec === "json") return Buffer.from(JSON.stringify(json));
  return Buffer.from(toBinary(method.input, fromJson(method.input, json, { ignoreUnknownFields: true })));
}

/** A reply's message, read strictly. */
function decodeReply(method: DescMethod, codec: Codec, bytes: Buffer): Message {
  return codec === "proto" ? fromBinary(method.output, bytes) : fromJson(method.output, JSON.parse(bytes.toString("utf8")) as JsonValue);
}

/** The same as ProtoJSON, read and written again by protobuf. */
export function replyJson(method: DescMethod, codec: Codec, bytes: Buffer): JsonObject {
  return toJson(method.output, decodeReply(method, codec, bytes)) as JsonObject;
}

/** How a protocol says that a call has ended. */
export interface Ending {
  /** Whether an envelope is the last one. */
  readonly isLast: (flags: number) => boolean;
  /** What the last envelope tells, and headers that it brings late. */
  readonly read: (bytes: Buffer) => { readonly failure: Failure | undefined; readonly trailers: Headers };
  /** A reply that is none of the protocol's. */
  readonly refusal: (reply: OpenReply) => Promise<Failure>;
}

/** Reads the messages of a reply. Throws {@link CallFailed} where its last envelope says so, and an Error where it has none. */
export async function* messagesOf(reply: OpenReply, contentType: string, ending: Ending): AsyncGenerator<Buffer, undefined> {
  if (reply.status !== 200 || reply.headers.get("content-type") !== contentType) {
    throw new CallFailed(await ending.refusal(reply), reply.headers);
  }
  let ended = false;
  for await (const { flags, bytes } of envelopesOf(reply.body)) {
    if (ended) throw new Error("an envelope after the last one");
    if (ending.isLast(flags)) {
      ended = true;
      const { failure, trailers } = ending.read(bytes);
      if (failure !== undefined) throw new CallFailed(failure, new Map([...reply.headers, ...trailers]));
    } else if (flags === 0) yield bytes;
    else throw new Error(`an envelope with flags ${flags}`);
  }
  if (!ended) throw new Error("the body ends without the last envelope");
}

/** A stream in envelopes, sent at once. */
export function envelopedStream(wire: Wire, request: HttpRequest, contentType: string, codec: Codec, ending: Ending): Stream {
  const leave = new AbortController();
  const opened = Promise.withResolvers<Headers>();
  opened.promise.catch(() => undefined);
  const signal = request.signal === undefined ? leave.signal : AbortSignal.any([leave.signal, request.signal]);
  const method = methodOf(request.target.split("/").at(-1)?.split("?")[0] ?? "");
  const pending = wire.open({ ...request, signal });
  pending.then(
    (reply) => opened.resolve(reply.headers),
    (error: unknown) => opened.reject(error),
  );
  async function* read(): AsyncGenerator<StreamResponse, undefined> {
    for await (const bytes of messagesOf(await pending, contentType, ending)) yield decodeReply(method, codec, bytes) as StreamResponse;
  }
  return Object.assign(read(), { headers: opened.promise, leave: () => leave.abort() });
}
