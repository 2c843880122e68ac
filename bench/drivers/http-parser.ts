/** Reads the answers on one HTTP/1.1 connection: as little as two well-behaved servers need. */

/** Takes the pieces of one answer. */
export interface AnswerSink {
  head(status: number, contentType: string): void;
  body(bytes: Buffer): void;
  /** The answer is whole; `reusable` says whether the connection may take another request. */
  end(reusable: boolean): void;
}

type State = "head" | "fixed" | "chunk-size" | "chunk" | "chunk-end" | "last-chunk-end";

const NOTHING = Buffer.alloc(0);
const LINE_END = "\r\n";
const HEAD_END = "\r\n\r\n";
const MAX_HEAD = 16 * 1024;

export class HttpParser {
  readonly #sink: () => AnswerSink;
  #state: State = "head";
  #rest: Buffer = NOTHING;
  #at = 0;
  /** Bytes of the body or the chunk that are still to come. */
  #left = 0;
  #reusable = true;

  /** `sink` is asked for whoever waits for the answer, each time a piece of it arrives. */
  constructor(sink: () => AnswerSink) {
    this.#sink = sink;
  }

  /** Takes what the connection brought. Throws on anything that is no HTTP/1.1. */
  feed(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#at = 0;
    while (this.#at < bytes.length && this.#step(bytes));
    this.#rest = this.#at === bytes.length ? NOTHING : bytes.subarray(this.#at);
  }

  /** Reads one piece; answers whether there was a whole one. */
  #step(bytes: Buffer): boolean {
    switch (this.#state) {
      case "head":
        return this.#line(bytes, HEAD_END, (head) => this.#head(head));
      case "chunk-size":
        return this.#line(bytes, LINE_END, (line) => {
          this.#left = Number.parseInt(line, 16);
          if (Number.isNaN(this.#left)) throw new Error(`not the size of a chunk: ${line}`);
          this.#state = this.#left === 0 ? "last-chunk-end" : "chunk";
        });
      case "chunk-end":
        return this.#line(bytes, LINE_END, () => {
          this.#state = "chunk-size";
        });
      case "last-chunk-end":
        return this.#line(bytes, LINE_END, () => this.#end());
      case "fixed":
        return this.#body(bytes, () => this.#end());
      case "chunk":
        return this.#body(bytes, () => {
          this.#state = "chunk-end";
        });
    }
    return false;
  }

  #line(bytes: Buffer, end: string, take: (line: string) => void): boolean {
    const found = bytes.indexOf(end, this.#at, "latin1");
    if (found === -1) {
      if (bytes.length - this.#at > MAX_HEAD) throw new Error("the head of an answer does not end");
      return false;
    }
    const line = bytes.toString("latin1", this.#at, found);
    this.#at = found + end.length;
    take(line);
    return true;
  }

  #body(bytes: Buffer, whole: () => void): boolean {
    const from = this.#at;
    this.#at = Math.min(bytes.length, from + this.#left);
    this.#left -= this.#at - from;
    this.#sink().body(bytes.subarray(from, this.#at));
    if (this.#left === 0) whole();
    return true;
  }

  #head(head: string): void {
    const status = /^HTTP\/1\.1 (\d{3})/u.exec(head)?.[1];
    if (status === undefined) throw new Error(`not an HTTP/1.1 answer: ${head.slice(0, 80)}`);
    this.#reusable = header(head, "connection").toLowerCase() !== "close";
    const length = header(head, "content-length");
    this.#left = Number(length);
    this.#state = header(head, "transfer-encoding") === "chunked" ? "chunk-size" : "fixed";
    if (this.#state === "fixed" && length === "") throw new Error("an answer without a length");
    this.#sink().head(Number(status), header(head, "content-type"));
    if (this.#state === "fixed" && this.#left === 0) this.#end();
  }

  #end(): void {
    this.#state = "head";
    this.#sink().end(this.#reusable);
  }
}

function header(head: string, name: string): string {
  return new RegExp(`^${name}: *(.*)$`, "imu").exec(head)?.[1] ?? "";
}
