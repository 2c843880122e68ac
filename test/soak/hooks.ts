/** Receivers of a soak: one port, a path for each task, and nothing kept of what has come to its end. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { fromJsonString } from "@bufbuild/protobuf";
import { StreamResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { isTerminal, stateAfter } from "../../src/core/task.ts";

/** Acknowledges everything. */
export class Hooks implements AsyncDisposable {
  readonly #server: Server;
  readonly #waiting = new Map<string, () => void>();
  #count = 0;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(): Promise<Hooks> {
    const server = createServer();
    const hooks = new Hooks(server);
    server.on("request", (request, response) => void hooks.#take(request, response).catch(() => response.destroy()));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return hooks;
  }

  /** A webhook, and when the end of its task has come to it. */
  next(): { readonly url: string; readonly ended: Promise<void> } {
    this.#count += 1;
    const path = `/${this.#count}`;
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(path, resolve);
    return { url: `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`, ended };
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const state = stateAfter(fromJsonString(StreamResponseSchema, Buffer.concat(chunks).toString()));
    response.writeHead(200).end();
    if (state === undefined || !isTerminal(state)) return;
    const path = request.url ?? "";
    this.#waiting.get(path)?.();
    this.#waiting.delete(path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
