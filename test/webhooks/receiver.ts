/** A webhook's receiver: a real HTTP server that keeps what it gets and answers as it is told. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { fromJsonString } from "@bufbuild/protobuf";
import { type StreamResponse, StreamResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";

/** One notification. */
export interface Received {
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  readonly event: StreamResponse;
  readonly path: string;
  /** The event's id. */
  readonly id: string;
  /** What it was answered with, once it was. */
  status: number | undefined;
}

/** How it answers: a status, or whatever a function does with the response. */
export type Answer = number | ((response: ServerResponse, request: IncomingMessage) => void);

/** Answers 200 unless told otherwise. */
export class Receiver implements AsyncDisposable {
  readonly received: Received[] = [];
  readonly #server: Server;
  readonly #waiting = new Set<() => void>();
  /** Answers of the next requests, in order; then `answer`. */
  readonly next: Answer[] = [];
  answer: Answer = 200;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(): Promise<Receiver> {
    const server = createServer();
    const receiver = new Receiver(server);
    server.on("request", (request, response) => void receiver.#take(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  url(path = "/hook"): string {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const body = Buffer.concat(chunks).toString();
    const { headers, url: path = "" } = request;
    const event = fromJsonString(StreamResponseSchema, body);
    const received: Received = { headers, body, event, path, id: String(headers["webhook-id"]), status: undefined };
    this.received.push(received);
    response.on("finish", () => {
      received.status = response.statusCode;
      this.#look();
    });
    const answer = this.next.shift() ?? this.answer;
    if (typeof answer === "number") response.writeHead(answer).end();
    else answer(response, request);
    this.#look();
  }

  #look(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Resolves when `wanted` holds of what was received. */
  async until(wanted: (received: readonly Received[]) => boolean): Promise<void> {
    while (!wanted(this.received)) {
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#waiting.delete(wake);
          resolve();
        };
        this.#waiting.add(wake);
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
