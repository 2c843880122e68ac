/** A plain grpc-js server that does what a test says. */
import { create, toBinary } from "@bufbuild/protobuf";
import {
  type Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type StatusObject,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { A2AService, StreamResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { definitionOf } from "../../../src/bindings/grpc/definition.ts";
import { createGrpcTransport, type GrpcTransportOptions } from "../../../src/bindings/grpc/transport.ts";
import { type A2AClient, client } from "./ways.ts";

type Unary = ServerUnaryCall<Buffer, Buffer>;
type Streaming = ServerWritableStream<Buffer, Buffer>;

/** What GetTask and SubscribeToTask do; other methods are not there. */
interface Behaviour {
  readonly get?: (call: Unary, callback: (error: Partial<StatusObject> | null, bytes?: Buffer, trailer?: Metadata) => void) => void;
  readonly subscribe?: (call: Streaming) => void;
}

export class PlainGrpcServer implements AsyncDisposable {
  readonly #server = new Server();
  port = 0;

  static async open({ get, subscribe }: Behaviour): Promise<PlainGrpcServer> {
    const plain = new PlainGrpcServer();
    const implementation: UntypedServiceImplementation = { ...(get && { GetTask: get }), ...(subscribe && { SubscribeToTask: subscribe }) };
    plain.#server.addService(definitionOf(A2AService), implementation);
    const bound = Promise.withResolvers<number>();
    plain.#server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error === null ? bound.resolve(port) : bound.reject(error),
    );
    plain.port = await bound.promise;
    return plain;
  }

  /** A client of it. */
  client(options: Partial<GrpcTransportOptions> = {}): { readonly client: A2AClient } & Disposable {
    return client(createGrpcTransport({ url: `http://127.0.0.1:${this.port}`, ...options }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.forceShutdown();
  }
}

/** The frame of a task with this id, encoded. */
export function taskFrame(id: string): Buffer {
  return Buffer.from(toBinary(StreamResponseSchema, create(StreamResponseSchema, { payload: { case: "task", value: { id } } })));
}
