/** The upstream's first word on a message: an answer of its own, a task, or a refusal; asked for before a task of ours exists. */
import { type JsonValue, toJson } from "@bufbuild/protobuf";
import { type Message, MessageSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { BeginTask, ReplyRequest, Turn } from "../core/agent.ts";
import { TaskError } from "../core/errors.ts";
import { A2AError, UnknownOutcomeError } from "../client/index.ts";
import { isTransient } from "../client/a2a-error.ts";
import { ownMessage } from "./own-message.ts";
import type { Read, Reading } from "./reading.ts";
import { refusalOf } from "./refusal.ts";
import { toMemo } from "./upstream-memo.ts";

/** How long a run waits for the turn that is to read it. */
const ADOPTION_MS = 30_000;

interface Opened {
  readonly reading: Promise<Reading>;
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
   * Sends the message and waits for the first word, at most `firstWordMs`. A repeat that comes meanwhile joins the first send. Answers the
   * agent's direct message, or what the task is to know. Throws the upstream's refusal.
   */
  async ask(request: ReplyRequest, send: () => Promise<Reading>): Promise<ReturnType<typeof ownMessage> | BeginTask> {
    const key = keyOf(request);
    let opened = this.#opened.get(key);
    if (opened === undefined) {
      opened = { reading: send(), asking: 0, timer: undefined };
      this.#opened.set(key, opened);
    }
    opened.asking += 1;
    try {
      const word = await firstOf(await opened.reading, this.#firstWordMs, request.signal);
      const answer = this.#judge(word, request);
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

  /** The run that was begun for the message of a turn, if this replica began it. It is the turn's from now on. */
  adopt(turn: Turn): Promise<Reading> | undefined {
    const key = keyOf(turn);
    const opened = this.#opened.get(key);
    if (opened === undefined) return undefined;
    clearTimeout(opened.timer);
    this.#opened.delete(key);
    return opened.reading;
  }

  /** Stops reading what nobody has adopted. */
  async close(): Promise<void> {
    const all = [...this.#opened.values()];
    this.#opened.clear();
    for (const { timer } of all) clearTimeout(timer);
    await Promise.all(all.map(({ reading }) => closed(reading)));
  }

  #judge(word: Read | undefined, request: ReplyRequest): ReturnType<typeof ownMessage> | BeginTask {
    const { messageId } = request.message;
    const unheard = { memo: toMemo({ taskId: "", contextId: "", messageId }) };
    if (word === undefined || word.is === "end") return unheard;
    if (word.is === "error") {
      const { error } = word;
      // The task goes on where the send cannot: its turn looks for what became of it.
      if (error instanceof UnknownOutcomeError || (error instanceof A2AError && (isTransient(error) || error.unreached))) return unheard;
      const refusal = refusalOf(error, { ownCredentials: Object.keys(request.headers).length > 0 });
      throw refusal ?? new TaskError("INTERNAL", "the upstream agent did not take the message", { cause: error });
    }
    const { event } = word.event;
    if (event.case === "message") return ownMessage(event.value);
    if (event.case === undefined) return unheard;
    const taskId = event.case === "task" ? event.value.id : event.value.taskId;
    return { memo: toMemo({ taskId, contextId: event.value.contextId, messageId }) };
  }

  #forget(key: string): void {
    const opened = this.#opened.get(key);
    if (opened === undefined) return;
    this.#opened.delete(key);
    clearTimeout(opened.timer);
    void closed(opened.reading);
  }

  /** Another replica may run the task, or none: a run is not read for ever for nobody. */
  #expireLater(key: string, opened: Opened): void {
    if (opened.asking > 0 || this.#opened.get(key) !== opened) return;
    clearTimeout(opened.timer);
    opened.timer = setTimeout(() => this.#forget(key), ADOPTION_MS);
    opened.timer.unref();
  }
}

/** Stops reading. A run that never began has nothing to stop. */
async function closed(reading: Promise<Reading>): Promise<void> {
  const opened = await reading.catch(() => undefined);
  await opened?.close();
}

/** One send: its caller, and all that the message says. */
function keyOf({ principal, tenant, message }: { principal: string; tenant: string; message: Message }): string {
  const json: JsonValue = toJson(MessageSchema, message);
  return JSON.stringify([tenant, principal, json]);
}

/** The first word; undefined where it takes too long. Rejects with the signal's reason. */
async function firstOf(reading: Reading, ms: number, signal: AbortSignal): Promise<Read | undefined> {
  signal.throwIfAborted();
  const { promise: late, resolve, reject } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), ms);
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([reading.next(), late]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}
