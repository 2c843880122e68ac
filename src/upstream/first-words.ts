/** The upstream's first word on a message: an answer of its own, a task, or a refusal; asked for before a task of ours exists. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { MessageSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { BeginTask } from "../core/agent.ts";
import { TaskError } from "../core/errors.ts";
import { isAway } from "./failures.ts";
import { ownMessage, type Whose } from "./own-message.ts";
import type { Read, Reading } from "./reading.ts";
import { toMemo, type UpstreamMemo } from "./upstream-memo.ts";

/** How long a run waits for the turn that is to read it. */
const ADOPTION_MS = 5000;

/** What an upstream answers without a task. */
export type DirectAnswer = MessageInitShape<typeof MessageSchema>;

/** What is known of a message before it is sent, and whose it is. */
interface Asked extends Whose {
  readonly asked: UpstreamMemo;
}

/** How the upstream is asked. */
interface Asking {
  readonly send: () => Reading;
  /** A refusal as the caller is to hear it. */
  readonly refuse: (error: unknown) => TaskError | undefined;
}

interface Opened {
  readonly reading: Reading;
  /** Sends that wait for its first word. */
  asking: number;
  timer: NodeJS.Timeout | undefined;
}

/** Runs that were begun for a message whose task is not there yet. */
export class FirstWords {
  readonly #opened = new Map<string, Opened>();
  readonly #firstWordMs: number;

  constructor(firstWordMs: number) {
    this.#firstWordMs = firstWordMs;
  }

  /**
   * Sends the message and waits for the first word, at most `firstWordMs`, whether its caller still waits or not: what the upstream has begun
   * is to be known. A repeat that comes meanwhile joins the first send. Answers the agent's direct message, or what the task is to know.
   * Throws the upstream's refusal.
   */
  async ask({ asked, ...whose }: Asked, { send, refuse }: Asking): Promise<DirectAnswer | BeginTask> {
    const key = keyOf(whose, asked.message);
    let opened = this.#opened.get(key);
    if (opened === undefined) {
      opened = { reading: send(), asking: 0, timer: undefined };
      this.#opened.set(key, opened);
    }
    opened.asking += 1;
    try {
      const answer = judge(await firstOf(opened.reading, this.#firstWordMs), asked, refuse);
      if (!("memo" in answer)) this.#forget(key);
      return answer;
    } catch (error) {
      this.#forget(key);
      throw error;
    } finally {
      opened.asking -= 1;
      this.#expireLater(key, opened);
    }
  }

  /** The run that was begun for the message of this digest, if this replica began it. It is the caller's from now on. */
  adopt(whose: Whose, digest: string): Reading | undefined {
    return this.#take(keyOf(whose, digest))?.reading;
  }

  /** Stops reading what nobody has adopted. */
  async close(): Promise<void> {
    const all = [...this.#opened.values()];
    this.#opened.clear();
    for (const { timer } of all) clearTimeout(timer);
    await Promise.all(all.map(({ reading }) => reading.close()));
  }

  #take(key: string): Opened | undefined {
    const opened = this.#opened.get(key);
    if (opened === undefined) return undefined;
    clearTimeout(opened.timer);
    this.#opened.delete(key);
    return opened;
  }

  #forget(key: string): void {
    void this.#take(key)?.reading.close();
  }

  /** Another replica may run the task, or none: a run is not read for ever for nobody. */
  #expireLater(key: string, opened: Opened): void {
    if (opened.asking > 0 || this.#opened.get(key) !== opened) return;
    clearTimeout(opened.timer);
    opened.timer = setTimeout(() => this.#forget(key), ADOPTION_MS);
    opened.timer.unref();
  }
}

/** What a first word means to whoever has asked. Throws the upstream's refusal. */
function judge(word: Read | undefined, asked: UpstreamMemo, refuse: Asking["refuse"]): DirectAnswer | BeginTask {
  if (word?.is === "error") {
    const { error } = word;
    // The task goes on where the send cannot: its turn looks for what became of it.
    if (isAway(error)) return { memo: toMemo(asked) };
    throw refuse(error) ?? new TaskError("INTERNAL", "the upstream agent did not take the message", { cause: error });
  }
  if (word?.is !== "event") return { memo: toMemo(asked) };
  const { event } = word.event;
  if (event.case === "message") {
    const own = ownMessage(event.value);
    if (own === undefined) throw new TaskError("INVALID_AGENT_RESPONSE", "the upstream agent answered with an empty message");
    return own;
  }
  return { memo: toMemo({ ...asked, taskId: taskIdOf(word), contextId: event.value?.contextId || asked.contextId }) };
}

/** The upstream's task that a word is about; empty where it is about none. */
export function taskIdOf(word: Read | undefined): string {
  if (word?.is !== "event") return "";
  const { event } = word.event;
  if (event.case === "task") return event.value.id;
  return event.case === "statusUpdate" || event.case === "artifactUpdate" ? event.value.taskId : "";
}

/** One send: its caller, and all that the message says. */
function keyOf({ owner, tenant }: Whose, digest: string): string {
  return JSON.stringify([tenant, owner, digest]);
}

/** The first word; undefined where it takes too long. */
export async function firstOf(reading: Reading, ms: number): Promise<Read | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, ms, undefined);
  try {
    return await Promise.race([reading.next(), late]);
  } finally {
    clearTimeout(timer);
  }
}
