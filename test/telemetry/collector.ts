/** A collector of OTLP over HTTP, which keeps what is posted to it. */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

/** One export. */
export interface Export {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

/** Takes whatever comes. */
export class Collector implements AsyncDisposable {
  readonly exports: Export[] = [];
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      this.exports.push({ path: request.url ?? "", headers: request.headers, body: Buffer.concat(chunks) });
      response.writeHead(200).end(this.#answer);
    });
  });

  readonly #answer: string;

  private constructor(answer: string) {
    this.#answer = answer;
  }

  /** `answer`: what it answers each time. Default: nothing, which says that all was taken. */
  static async open(answer = ""): Promise<Collector> {
    const collector = new Collector(answer);
    await new Promise<void>((resolve) => collector.#server.listen(0, "127.0.0.1", resolve));
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Exports of one kind: `metrics` or `traces`. */
  of(signal: string): readonly Export[] {
    return this.exports.filter(({ path }) => path === `/v1/${signal}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
