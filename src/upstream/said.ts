/** The messages that a task holds already. */
import { hash } from "node:crypto";
import { equals, toBinary, toJson } from "@bufbuild/protobuf";
import canonicalize from "canonicalize";
import { type Message, type Part, PartSchema, type Task } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { HISTORY_LIMIT } from "../core/task.ts";

/**
 * Tells messages by their ids and their parts: an id may be used twice. One without an id is told by its parts. The latest are known, as many as
 * histories show, and by digests: an agent may say any amount.
 */
export class Said {
  /** Digests of messages, the latest last, and of their parts. */
  readonly #messages = new Map<string, string>();
  /** How many of the messages have parts of a digest. */
  readonly #parts = new Map<string, number>();
  readonly #most: number;

  constructor({ history, status }: Task, most: number = 2 * HISTORY_LIMIT) {
    this.#most = most;
    for (const message of history) this.add(message);
    if (status?.message !== undefined) this.add(status.message);
  }

  add({ messageId, parts }: Message): void {
    const said = digestOf(parts);
    const key = keyOf(messageId, said);
    if (!this.#messages.delete(key)) this.#parts.set(said, (this.#parts.get(said) ?? 0) + 1);
    this.#messages.set(key, said);
    const [oldest] = this.#messages;
    if (this.#messages.size > this.#most && oldest !== undefined) this.#forget(...oldest);
  }

  has({ messageId, parts }: Message): boolean {
    const said = digestOf(parts);
    return messageId === "" ? this.#parts.has(said) : this.#messages.has(keyOf(messageId, said));
  }

  #forget(key: string, said: string): void {
    this.#messages.delete(key);
    const left = (this.#parts.get(said) ?? 0) - 1;
    if (left > 0) this.#parts.set(said, left);
    else this.#parts.delete(said);
  }
}

/** The parts that say something: no other enters our log. */
export function withContent(parts: readonly Part[]): readonly Part[] {
  return parts.every(({ content }) => content.case !== undefined) ? parts : parts.filter(({ content }) => content.case !== undefined);
}

/** Whether two parts say the same. */
export function samePart(one: Part, other: Part | undefined): boolean {
  return other !== undefined && (one === other || equals(PartSchema, one, other));
}

function keyOf(messageId: string, said: string): string {
  return sha256(JSON.stringify([messageId, said]));
}

/** The same for parts that say the same. */
function digestOf(parts: readonly Part[]): string {
  return sha256(JSON.stringify(withContent(parts).map((part) => textOf(part))));
}

/** Most parts are plain text. Members of JSON have no order. */
function textOf(part: Part): unknown {
  const { content, filename, mediaType, metadata } = part;
  if (content.case === "text" && metadata === undefined) return [content.value, filename, mediaType];
  try {
    return canonicalize(toJson(PartSchema, part));
  } catch {
    // A number that JSON does not have.
    return Buffer.from(toBinary(PartSchema, part)).toString("base64");
  }
}

function sha256(text: string): string {
  return hash("sha256", text, "base64url");
}
