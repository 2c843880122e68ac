/** Calls of services beside A2A's, by grpc-js and their generated schemas. */
import { create, type DescMethod, fromBinary, type MessageInitShape, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { Client, type ClientDuplexStream, type ClientReadableStream, credentials, Metadata } from "@grpc/grpc-js";

const identity = (bytes: Buffer): Buffer => bytes;

/** Calls any method by its descriptor, with nothing but the request. */
export class SideCalls implements Disposable {
  readonly #client: Client;

  constructor(port: number) {
    this.#client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  }

  unary<M extends DescMethod>(method: M, request: MessageInitShape<M["input"]>): Promise<MessageShape<M["output"]>> {
    const { promise, resolve, reject } = Promise.withResolvers<MessageShape<M["output"]>>();
    this.#client.makeUnaryRequest(pathOf(method), identity, identity, encode(method, request), (error, bytes) =>
      error === null ? resolve(decode(method, bytes as Buffer)) : reject(error),
    );
    return promise;
  }

  /** Sends any bytes as the request, and reads the reply or the first message. */
  bytes(path: string, request: Buffer): Promise<Buffer | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer | undefined>();
    this.#client.makeUnaryRequest(path, identity, identity, request, (error, bytes) => (error === null ? resolve(bytes) : reject(error)));
    return promise;
  }

  /** A server stream: its messages as they come. */
  stream<M extends DescMethod>(method: M, request: MessageInitShape<M["input"]>): Messages<M> {
    return new Messages(method, this.#client.makeServerStreamRequest(pathOf(method), identity, identity, encode(method, request)));
  }

  /** A stream in both directions. */
  duplex<M extends DescMethod>(method: M): Conversation<M> {
    return new Conversation(method, this.#client.makeBidiStreamRequest(pathOf(method), identity, identity, new Metadata()));
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}

/** What a stream answers. */
export class Messages<M extends DescMethod> implements Disposable {
  readonly #method: M;
  readonly #call: ClientReadableStream<Buffer>;
  readonly #bytes: AsyncIterator<Buffer, undefined>;

  constructor(method: M, call: ClientReadableStream<Buffer>) {
    this.#method = method;
    this.#call = call;
    this.#bytes = call[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
  }

  /** The next message; undefined at a clean end. Rejects with the status otherwise. */
  async next(): Promise<MessageShape<M["output"]> | undefined> {
    const { done, value } = await this.#bytes.next();
    return done === true ? undefined : decode(this.#method, value);
  }

  [Symbol.dispose](): void {
    this.#call.on("error", () => undefined).cancel();
  }
}

/** A stream that is asked and answers. */
export class Conversation<M extends DescMethod> extends Messages<M> {
  readonly #asked: M;
  readonly #out: ClientDuplexStream<Buffer, Buffer>;

  constructor(method: M, call: ClientDuplexStream<Buffer, Buffer>) {
    super(method, call);
    this.#asked = method;
    this.#out = call;
  }

  /** Sends a question and waits for its answer. */
  async ask(request: MessageInitShape<M["input"]>): Promise<MessageShape<M["output"]> | undefined> {
    this.#out.write(encode(this.#asked, request));
    return this.next();
  }

  /** Says that nothing more is asked. */
  end(): void {
    this.#out.end();
  }
}

function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function encode<M extends DescMethod>(method: M, request: MessageInitShape<M["input"]>): Buffer {
  return Buffer.from(toBinary(method.input, create(method.input, request)));
}

function decode<M extends DescMethod>(method: M, bytes: Buffer): MessageShape<M["output"]> {
  return fromBinary(method.output, bytes) as MessageShape<M["output"]>;
}
