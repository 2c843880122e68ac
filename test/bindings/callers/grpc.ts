/** Calls by grpc-js and the generated schemas. */
import { type DescMethod, fromBinary, type JsonObject, toJson } from "@bufbuild/protobuf";
import { type ChannelOptions, Client, type ClientReadableStream, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import type { StreamResponse } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
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
import { readStatus } from "./details.ts";
import { encodeRequest, methodOf, pathOf } from "./envelopes.ts";

const identity = (bytes: Buffer): Buffer => bytes;

/** What {@link GrpcCaller} alone takes. */
export interface GrpcOptions extends CallOptions {
  /** Called when the initial metadata comes, which may be long before the reply. */
  readonly onHeaders?: (headers: Headers) => void;
}

export class GrpcCaller implements Caller {
  readonly binding = "grpc";
  readonly #client: Client;

  constructor(port: number, options: ChannelOptions = {}) {
    this.#client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), { "grpc.max_receive_message_length": -1, ...options });
  }

  unary(method: string, request: JsonObject = {}, options: GrpcOptions = {}): Promise<Reply> {
    const desc = methodOf(method);
    return this.unaryBytes(method, encodeRequest(desc, "proto", request, options), options).then(({ bytes, headers }) => ({
      message: toJson(desc.output, fromBinary(desc.output, bytes)) as JsonObject,
      headers,
    }));
  }

  /** A call with any bytes as its request. */
  unaryBytes(method: string, request: Uint8Array, options: GrpcOptions = {}): Promise<{ bytes: Buffer; headers: Headers }> {
    const { promise, resolve, reject } = Promise.withResolvers<{ bytes: Buffer; headers: Headers }>();
    let headers: Headers = new Map();
    const call = this.#client.makeUnaryRequest(
      pathOf(method),
      identity,
      identity,
      Buffer.from(request),
      metadataOf(options),
      (error, bytes) => (error === null ? resolve({ bytes: bytes as Buffer, headers }) : reject(failed(error, headers))),
    );
    call.on("metadata", (metadata) => {
      headers = headersOf(metadata);
      options.onHeaders?.(headers);
    });
    const cancel = (): void => call.cancel();
    options.signal?.addEventListener("abort", cancel);
    return promise.finally(() => options.signal?.removeEventListener("abort", cancel));
  }

  stream(method: string, request: JsonObject = {}, options: GrpcOptions = {}): Stream {
    const desc = methodOf(method);
    const call = this.#client.makeServerStreamRequest(
      pathOf(method),
      identity,
      identity,
      encodeRequest(desc, "proto", request, options),
      metadataOf(options),
    );
    return grpcStream(desc, call, options);
  }

  close(): void {
    this.#client.close();
  }
}

function grpcStream(desc: DescMethod, call: ClientReadableStream<Buffer>, { signal }: CallOptions): Stream {
  let headers: Headers = new Map();
  const opened = Promise.withResolvers<Headers>();
  opened.promise.catch(() => undefined);
  call.on("metadata", (metadata) => {
    headers = headersOf(metadata);
    opened.resolve(headers);
  });
  signal?.addEventListener("abort", () => call.cancel(), { once: true });
  // It may come before anybody reads.
  let early: ServiceError | undefined;
  call.on("error", (error: ServiceError) => (early = error));
  async function* read(): AsyncGenerator<StreamResponse, undefined> {
    try {
      for await (const bytes of call) yield fromBinary(desc.output, bytes as Buffer) as StreamResponse;
      if (early !== undefined) throw early;
    } catch (error) {
      const failure = failed(error as ServiceError, headers);
      opened.reject(failure);
      throw failure;
    }
  }
  return Object.assign(read(), { headers: opened.promise, leave: () => call.cancel() });
}

/** The failure that a gRPC status tells. */
function failed(error: ServiceError, headers: Headers): CallFailed {
  return new CallFailed(failureOf(error), headers);
}

function failureOf(error: ServiceError): Failure {
  const [details] = error.metadata?.get("grpc-status-details-bin") ?? [];
  return { ...readStatus(details as Buffer | undefined), code: error.code, httpStatus: undefined, message: error.details };
}

function metadataOf(options: CallOptions): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of requestHeaders(options)) metadata.add(name, value);
  return metadata;
}

function headersOf(metadata: Metadata): Headers {
  return new Map(Object.entries(metadata.getMap()).map(([name, value]) => [name, String(value)]));
}
