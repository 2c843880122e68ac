/** The forms in which a call of Connect or gRPC-Web may come. Codes, errors and trailers are written by Connect's own functions. */
import type { ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus, endStreamFlag, endStreamToJson, errorToJson, parseTimeout } from "@connectrpc/connect/protocol-connect";
import { parseTimeout as parseGrpcTimeout, setTrailerStatus, trailerFlag, trailerSerialize } from "@connectrpc/connect/protocol-grpc-web";
import { wireError } from "../../rpc/errors.ts";
import { type Codec, envelope } from "../envelope.ts";

/** Writes the last envelope of a reply: how the call has ended. */
export type LastEnvelope = (error?: ConnectError) => Buffer;

/** What the media type of a call settles. */
export interface Form {
  readonly protocol: "connect" | "grpc-web";
  /** Of the request and of the reply. */
  readonly codec: Codec;
  /** Media type of the reply. */
  readonly contentType: string;
  /** Header that names the compression of the request, and the one that says in reply which may be used. */
  readonly encodingHeader: string;
  readonly acceptHeader: string;
  /** Header that says how long the caller waits, and how it is read. */
  readonly timeoutHeader: string;
  readonly parseTimeout: typeof parseTimeout;
  /** Undefined where messages come without envelopes: the body is the message. */
  readonly last: LastEnvelope | undefined;
  /** The reply to a call of which nothing was answered yet. */
  readonly refusal: (error: ConnectError) => { readonly status: number; readonly contentType: string; readonly body: Buffer };
}

/** The forms of unary methods and of streams, by media type. */
export const FORMS: Readonly<Record<"unary" | "server_streaming", ReadonlyMap<string, Form>>> = {
  unary: byMediaType(connectUnary("proto"), connectUnary("json"), grpcWeb("proto"), grpcWeb("json")),
  server_streaming: byMediaType(connectStream("proto"), connectStream("json"), grpcWeb("proto"), grpcWeb("json")),
};

function byMediaType(...forms: readonly Form[]): ReadonlyMap<string, Form> {
  const entries = forms.map((form) => [form.contentType, form] as const);
  // gRPC-Web may leave the codec out.
  return new Map([...entries, ["application/grpc-web", grpcWeb("proto")]]);
}

function connectUnary(codec: Codec): Form {
  return {
    protocol: "connect",
    codec,
    contentType: `application/${codec}`,
    encodingHeader: "content-encoding",
    acceptHeader: "accept-encoding",
    timeoutHeader: "connect-timeout-ms",
    parseTimeout,
    last: undefined,
    refusal: (error) => ({
      status: codeToHttpStatus(error.code),
      contentType: "application/json",
      body: Buffer.from(JSON.stringify(errorToJson(error, undefined))),
    }),
  };
}

function connectStream(codec: Codec): Form {
  return enveloped({
    protocol: "connect",
    codec,
    contentType: `application/connect+${codec}`,
    encodingHeader: "connect-content-encoding",
    acceptHeader: "connect-accept-encoding",
    timeoutHeader: "connect-timeout-ms",
    parseTimeout,
    last: (error) => envelope(endStreamFlag, JSON.stringify(endStreamToJson(trailer(error), error, undefined))),
  });
}

function grpcWeb(codec: Codec): Form {
  return enveloped({
    protocol: "grpc-web",
    codec,
    contentType: `application/grpc-web+${codec}`,
    encodingHeader: "grpc-encoding",
    acceptHeader: "grpc-accept-encoding",
    timeoutHeader: "grpc-timeout",
    parseTimeout: parseGrpcTimeout,
    last: (error) => envelope(trailerFlag, trailerSerialize(setTrailerStatus(trailer(error), error))),
  });
}

function enveloped(form: Omit<Form, "refusal"> & { readonly last: LastEnvelope }): Form {
  return { ...form, refusal: (error) => ({ status: 200, contentType: form.contentType, body: form.last(error) }) };
}

function trailer(error: ConnectError | undefined): Headers {
  const seconds = error === undefined ? undefined : wireError(error).retryAfterSeconds;
  return new Headers(seconds === undefined ? {} : { "retry-after": String(seconds) });
}
