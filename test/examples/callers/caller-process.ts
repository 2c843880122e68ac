/** A caller at work: what it has printed so far, and the task that its frames make. */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { StreamResponseSchema, type Task } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { apply } from "../../../src/core/task.ts";

const FRAME = /^\{"(?:task|statusUpdate|artifactUpdate)":/;

export class CallerProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #closed: Promise<number | null>;
  #last = "";
  #stderr = "";
  #task: Task | undefined;
  #streams = 0;
  #news = Promise.withResolvers<void>();

  constructor(directory: string, [file = "", ...args]: readonly string[]) {
    const child = spawn(file, args, { cwd: directory, stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    const { promise, resolve, reject } = Promise.withResolvers<number | null>();
    this.#closed = promise;
    child.once("error", reject).once("close", resolve);
    createInterface({ input: child.stdout }).on("line", (line) => this.#hear(line));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (this.#stderr += text));
  }

  /** How many streams have begun. */
  get streams(): number {
    return this.#streams;
  }

  /** What the frames so far make; undefined before the first one. */
  get task(): Task | undefined {
    return this.#task;
  }

  /** Resolves when it has shown enough; rejects where it ends before. */
  async until(enough: (caller: this) => boolean): Promise<void> {
    while (!enough(this)) {
      const ended = await Promise.race([this.#news.promise, this.#closed.then(() => true)]);
      if (ended === true && !enough(this)) throw await this.#failure();
    }
  }

  /** Its last line, once it has ended well. */
  async answer(): Promise<JsonValue> {
    if ((await this.#closed) !== 0) throw await this.#failure();
    return JSON.parse(this.#last) as JsonValue;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#closed.catch(() => undefined);
  }

  #hear(line: string): void {
    this.#last = line;
    if (FRAME.test(line)) {
      const frame = fromJson(StreamResponseSchema, JSON.parse(line) as JsonValue);
      if (frame.payload.case === "task") this.#streams += 1;
      this.#task = apply(this.#task, frame).task;
    }
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }

  async #failure(): Promise<Error> {
    return new Error(`the caller has ended with ${await this.#closed}\n${this.#last.slice(0, 1000)}\n${this.#stderr}`);
  }
}
