/** The messages that a task holds already. */
import { equals } from "@bufbuild/protobuf";
import { type Message, type Part, PartSchema, type Task } from "../../gen/lf/a2a/v1/a2a_pb.ts";

/** Tells messages by their ids and their parts: an id may be used twice. One without an id is told by its parts. */
export class Said {
  readonly #byId = new Map<string, (readonly Part[])[]>();

  constructor({ history, status }: Task) {
    for (const message of history) this.add(message);
    if (status?.message !== undefined) this.add(status.message);
  }

  add({ messageId, parts }: Message): void {
    const full = withContent(parts);
    const known = this.#byId.get(messageId);
    if (known === undefined) this.#byId.set(messageId, [full]);
    else if (!known.some((one) => sameParts(one, full))) known.push(full);
  }

  has({ messageId, parts }: Message): boolean {
    const full = withContent(parts);
    const candidates = messageId === "" ? [...this.#byId.values()].flat() : (this.#byId.get(messageId) ?? []);
    return candidates.some((one) => sameParts(one, full));
  }
}

/** The parts that say something: no other enters our log. */
export function withContent(parts: readonly Part[]): readonly Part[] {
  return parts.every(({ content }) => content.case !== undefined) ? parts : parts.filter(({ content }) => content.case !== undefined);
}

function sameParts(some: readonly Part[], others: readonly Part[]): boolean {
  return some === others || (some.length === others.length && some.every((part, index) => samePart(part, others[index])));
}

/** Whether two parts say the same. */
export function samePart(one: Part, other: Part | undefined): boolean {
  return other !== undefined && (one === other || equals(PartSchema, one, other));
}
