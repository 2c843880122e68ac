/** Connect and gRPC-Web, in either codec, over either version of HTTP. */
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import type { DescMethod } from "@bufbuild/protobuf";
import { CallFailed, type Failure } from "../../bindings/callers/caller.ts";
import { CONNECT_ENDING, connectFailure } from "../../bindings/callers/connect.ts";
import { type Codec, type Ending, envelope, messagesOf, pathOf } from "../../bindings/callers/envelopes.ts";
import { GRPC_WEB_ENDING } from "../../bindings/callers/grpc-web.ts";
import { type HttpVersion, type Wire, wireTo } from "../../bindings/callers/wire.ts";
import {
  type Answer,
  type BinarySurface,
  type JsonRequest,
  type JsonSurface,
  objectText,
  onOneLine,
  type Placement,
  type Surface,
} from "../surface.ts";

/** How a call is put into HTTP. */
interface Form {
  readonly contentType: string;
  readonly ending: Ending | undefined;
}

/** What both codecs share. */
class EnvelopedSurface {
  readonly name: string;
  readonly binding: "connect" | "grpc-web";
  readonly wire: Wire;
  readonly #codec: Codec;

  constructor(port: number, binding: "connect" | "grpc-web", codec: Codec, http: HttpVersion) {
    this.name = `${binding} in ${codec} over HTTP/${http}`;
    this.binding = binding;
    this.wire = wireTo(port, http);
    this.#codec = codec;
  }

  /** Sends the bytes of a message. */
  async sendBytes(method: DescMethod, message: Uint8Array, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const { contentType, ending } = this.#form(method);
    const {
      status,
      headers: head,
      body,
    } = await this.wire.open({
      method: "POST",
      target: pathOf(method.name),
      headers: Object.entries({ "a2a-version": "1.0", "content-type": contentType, ...headers }),
      body: ending === undefined ? message : envelope(message),
    });
    const bytes = await buffer(body);
    const block = [String(status), ...[...head].map(([name, value]) => `${name}: ${value}`)];
    const received = [...block, onOneLine(bytes.toString("latin1"))].join("\n");
    const reply = { status, headers: head, body: Readable.from([bytes]) };
    if (ending === undefined) return { failure: status === 200 ? undefined : await connectFailure(reply), received };
    const failure = await failureAmong(messagesOf(reply, contentType, ending));
    return { failure, received: [received, onOneLine(JSON.stringify(failure?.metadata ?? {}))].join("\n") };
  }

  close(): void {
    this.wire.close();
  }

  #form({ methodKind }: DescMethod): Form {
    if (this.binding === "grpc-web") return { contentType: `application/grpc-web+${this.#codec}`, ending: GRPC_WEB_ENDING };
    if (methodKind === "server_streaming") return { contentType: `application/connect+${this.#codec}`, ending: CONNECT_ENDING };
    return { contentType: `application/${this.#codec}`, ending: undefined };
  }
}

async function failureAmong(messages: AsyncIterable<Buffer>): Promise<Failure | undefined> {
  try {
    for await (const message of messages) void message;
    return undefined;
  } catch (error) {
    if (error instanceof CallFailed) return error.failure;
    throw error;
  }
}

class EnvelopedBinary extends EnvelopedSurface implements Surface<Uint8Array> {
  send(method: DescMethod, request: Uint8Array, headers?: Readonly<Record<string, string>>): Promise<Answer> {
    return this.sendBytes(method, request, headers);
  }
}

class EnvelopedJson extends EnvelopedSurface implements JsonSurface {
  send(method: DescMethod, { body }: JsonRequest, headers?: Readonly<Record<string, string>>): Promise<Answer> {
    return this.sendBytes(method, Buffer.from(objectText(body)), headers);
  }

  placement(): Placement {
    return "body";
  }
}

/** The surfaces of a port that take JSON. */
export function envelopedJson(port: number): JsonSurface[] {
  return [new EnvelopedJson(port, "connect", "json", 1), new EnvelopedJson(port, "grpc-web", "json", 2)];
}

/** The surfaces of a port that take binary. */
export function envelopedBinary(port: number): BinarySurface[] {
  return [new EnvelopedBinary(port, "connect", "proto", 2), new EnvelopedBinary(port, "grpc-web", "proto", 1)];
}
