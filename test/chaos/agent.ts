/**
 * The agent of the chaos run: it does what the task's first message says, and numbers its events, so that an event that is missing or
 * stands twice is told from its content alone. It reads from the task how far it came, as examples/list-worker does.
 */
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Message, Part, Task } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import {
  type Agent,
  type AgentEvent,
  artifact,
  authRequired,
  canceled,
  completed,
  failed,
  inputRequired,
  rejected,
  textPart,
  type Turn,
  working,
} from "../../src/index.ts";
import { formatNumber, heardText, type Numbered, parseNumber, readScript, type Step } from "./script.ts";

/** That a turn was given a message: the proof that none was forgotten. */
export interface Given {
  readonly taskId: string;
  readonly messageId: string;
  /** For the message that a turn began with: which run of it this is. */
  readonly attempt: number;
  readonly resumed: boolean;
}

/** Where the agent says what it was given: a file that outlives the process. */
export const GIVEN_FILE = "CHAOS_GIVEN_FILE";
/** `false` makes an agent that cannot resume, as an older version of it would be in a rollout. */
export const RESUMABLE = "CHAOS_RESUMABLE";

/** The agent. `given` is told of each message before anything is done with it. */
export function chaosAgent({ resumable, given }: { readonly resumable: boolean; readonly given: (given: Given) => void }): Agent {
  return {
    card: {
      name: "chaos",
      description: "Does what it is told",
      version: "1",
      skills: [{ id: "x", name: "X", description: "X", tags: [] }],
    },
    resumable,
    acceptsMessages: true,
    run: (turn) => new ChaosTurn(turn, given).run(),
  };
}

/** One run of the agent. */
class ChaosTurn {
  readonly #turn: Turn;
  readonly #given: (given: Given) => void;
  readonly #steps: readonly Step[];
  readonly #heard: ReadonlySet<string>;
  #number: number;
  #done: number;
  #next: Promise<Message | undefined> | undefined;

  constructor(turn: Turn, given: (given: Given) => void) {
    this.#turn = turn;
    this.#given = given;
    this.#steps = readScript(textOf(turn.history[0]?.parts[0]));
    const texts = textsOf(turn.task);
    const last = texts.flatMap((text) => parseNumber(text) ?? []).reduce(later, { number: 0, done: 0 });
    this.#number = last.number;
    this.#done = last.done;
    this.#heard = new Set(texts.flatMap((text) => /^#\S+ heard (\S+)/.exec(text)?.[1] ?? []));
  }

  async *run(): AsyncGenerator<AgentEvent> {
    const { message, history, signal, taskId, attempt, resumed } = this.#turn;
    const { messageId } = message;
    this.#given({ taskId, messageId, attempt, resumed });
    if (messageId !== history[0]?.messageId && !this.#heard.has(messageId)) yield working(this.#say(heardText(messageId)));
    while (this.#done < this.#steps.length) {
      if (signal.aborted) break;
      const step = this.#steps[this.#done] as Step;
      this.#done += 1;
      if (step.is === "end" && step.how === "throw") throw new Error("told to");
      if (step.is === "end" && step.how === "return") return;
      yield* this.#do(step);
      if (step.is === "ask" && !step.stay) return;
    }
    // Every other canceled task is ended by its agent, the others by the server.
    if (signal.aborted && this.#number % 2 === 0) yield canceled(this.#say("canceled"));
  }

  async *#do(step: Step): AsyncGenerator<AgentEvent> {
    switch (step.is) {
      case "chunk": {
        await this.#pause(step.pauseMs);
        // Every fiftieth replaces its artifact: what was before is in the log only.
        const append = this.#number % 50 !== 49;
        const artifactId = this.#number % 3 === 0 ? "a" : "b";
        yield artifact({ artifactId, parts: [textPart(this.#say("x".repeat(step.bytes)))] }, { append });
        return;
      }
      case "say":
        await this.#pause(step.pauseMs);
        yield working(this.#say("working"));
        return;
      case "ask":
        yield (step.auth ? authRequired : inputRequired)(this.#say("which?"));
        if (step.stay) yield* this.#hear(await this.#nextMessage());
        return;
      case "hear":
        yield working(this.#say("listening"));
        yield* this.#hear(await Promise.race([this.#nextMessage(), this.#pause(step.forMs)]));
        return;
      case "end":
        yield (step.how === "failed" ? failed : step.how === "rejected" ? rejected : completed)(this.#say("the end"));
    }
  }

  *#hear(message: Message | undefined): Generator<AgentEvent> {
    if (message !== undefined) yield working(this.#say(heardText(message.messageId)));
  }

  /** The next message; one that nobody waited for any more when it came is the next one's. */
  #nextMessage(): Promise<Message | undefined> {
    this.#next ??= this.#turn.next().then((message) => {
      this.#next = undefined;
      if (message !== undefined) this.#given({ taskId: this.#turn.taskId, messageId: message.messageId, attempt: 1, resumed: false });
      return message;
    });
    return this.#next;
  }

  #say(text: string): string {
    this.#number += 1;
    return `${formatNumber({ number: this.#number, done: this.#done })} ${text}`;
  }

  async #pause(ms: number): Promise<undefined> {
    // An abort ends it, and the loop sees the signal.
    if (ms > 0) await delay(ms, undefined, { signal: this.#turn.signal }).catch(() => undefined);
  }
}

function later(a: Numbered, b: Numbered): Numbered {
  return b.number > a.number ? b : a;
}

/** What the agent has said so far. */
function textsOf({ artifacts, history, status }: Task): string[] {
  const said = status?.message === undefined ? history : [...history, status.message];
  return [...artifacts.flatMap(({ parts }) => parts), ...said.flatMap(({ parts }) => parts)].map(textOf);
}

function textOf(part: Part | undefined): string {
  return part?.content.case === "text" ? part.content.value : "";
}

/** Appends to the file that the environment names. Synchronous: the process may be killed at any moment. */
function intoFile(given: Given): void {
  const file = process.env[GIVEN_FILE];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(given)}\n`);
}

const agent: Agent = chaosAgent({ resumable: process.env[RESUMABLE] !== "false", given: intoFile });
export default agent;
