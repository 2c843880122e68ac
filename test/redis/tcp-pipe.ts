/** One direction of a proxied connection: bytes from a source to a sink, in order, with bounded memory. */
import type { Socket } from "node:net";

/** Above this many waiting bytes the source is no longer read. */
const QUEUE_BYTES = 1024 * 1024;

/** What a pipe asks for each chunk, so that a fault takes effect on open connections too. */
export interface PipeRules {
  /** Whether a chunk that was just read goes on; else it is gone. */
  readonly admit: (chunk: Buffer) => boolean;
  /** Whether the end of the source is told to the sink. */
  readonly tellsEnd: () => boolean;
  /** Whether nothing may be written now; `flush()` must be called when that changes. */
  readonly held: () => boolean;
  /** How long a chunk waits before it is written. */
  readonly delayMs: () => number;
}

export class TcpPipe {
  readonly #source: Socket;
  readonly #sink: Socket;
  readonly #rules: PipeRules;
  #queue: { readonly due: number; readonly chunk: Buffer }[] = [];
  #queuedBytes = 0;
  #ended = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(source: Socket, sink: Socket, rules: PipeRules) {
    this.#source = source;
    this.#sink = sink;
    this.#rules = rules;
    source.on("data", (chunk: Buffer) => this.#take(chunk));
    source.on("end", () => {
      if (rules.tellsEnd()) this.end();
    });
    sink.on("drain", () => this.flush());
    sink.once("close", () => clearTimeout(this.#timer));
  }

  /** Ends the sink after what is waiting; what the source still says is lost. */
  end(): void {
    this.#ended = true;
    this.flush();
  }

  /** Writes what is due, as far as the sink takes it. */
  flush(): void {
    clearTimeout(this.#timer);
    while (!this.#rules.held() && !this.#sink.writableNeedDrain) {
      const [head] = this.#queue;
      if (head === undefined) {
        if (this.#ended) this.#sink.end();
        break;
      }
      const waitMs = head.due - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.flush(), Math.ceil(waitMs));
        break;
      }
      this.#queue.shift();
      this.#queuedBytes -= head.chunk.length;
      this.#sink.write(head.chunk);
    }
    if (this.#queuedBytes < QUEUE_BYTES) this.#source.resume();
  }

  #take(chunk: Buffer): void {
    if (!this.#rules.admit(chunk) || this.#ended) return;
    this.#queue.push({ due: performance.now() + this.#rules.delayMs(), chunk });
    this.#queuedBytes += chunk.length;
    if (this.#queuedBytes >= QUEUE_BYTES) this.#source.pause();
    this.flush();
  }
}
