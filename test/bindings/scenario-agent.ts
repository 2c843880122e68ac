/** One agent for all tests of the bindings: the message's text says what it does, gates say when. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { MessageSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Agent, AgentCardInit, CardReader, ReplyRequest, Turn } from "../../src/core/agent.ts";
import {
  type AgentEvent,
  artifact,
  authRequired,
  canceled,
  completed,
  failed,
  inputRequired,
  rejected,
  textPart,
  working,
} from "../../src/core/events.ts";

/** A place where a scenario waits for its test, step by step. */
export class Gate {
  readonly name: string;
  /** Resolves with the turn that has come to this gate first. */
  readonly reached: Promise<Turn>;
  /** Resolves when a scenario that says so has ended. */
  readonly left: Promise<void>;
  readonly #reached = Promise.withResolvers<Turn>();
  readonly #left = Promise.withResolvers<void>();
  #passes = 0;
  #wake = Promise.withResolvers<void>();

  constructor(name: string) {
    this.name = name;
    this.reached = this.#reached.promise;
    this.left = this.#left.promise;
  }

  /** What a scenario calls as the last thing it does. */
  leave(): void {
    this.#left.resolve();
  }

  /** Lets through `steps` waits, now or when they come. */
  open(steps = 1): void {
    this.#passes += steps;
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }

  /** What a scenario calls. Answers false where its turn was aborted first. */
  async pass(turn: Turn, { deaf = false } = {}): Promise<boolean> {
    this.#reached.resolve(turn);
    const aborted = new Promise<void>((resolve) => turn.signal.addEventListener("abort", () => resolve(), { once: true }));
    while (this.#passes === 0) {
      if (turn.signal.aborted && !deaf) return false;
      await (deaf ? this.#wake.promise : Promise.race([this.#wake.promise, aborted]));
    }
    this.#passes -= 1;
    return true;
  }
}

/** What the tests know of an agent beyond its card. */
export interface ScenarioOptions {
  readonly card?: Partial<AgentCardInit>;
  readonly acceptsMessages?: boolean;
}

/** An agent and its gates. */
export class ScenarioAgent implements Agent {
  readonly card: AgentCardInit;
  readonly acceptsMessages: boolean;
  /** Of those who have one. */
  extendedCard?(reader: CardReader): Promise<AgentCardInit | undefined>;
  readonly #gates = new Map<string, Gate>();

  constructor({ card, acceptsMessages = false }: ScenarioOptions = {}) {
    this.card = {
      name: "scenarios",
      description: "Does what the text says",
      version: "1",
      defaultInputModes: ["text/plain"],
      defaultOutputModes: ["text/plain"],
      skills: [],
      ...card,
    };
    this.acceptsMessages = acceptsMessages;
  }

  /** A fresh gate; its name goes into the message's text. */
  gate(): Gate {
    const gate = new Gate(`gate-${this.#gates.size}`);
    this.#gates.set(gate.name, gate);
    return gate;
  }

  async reply({ message, extensions }: ReplyRequest): Promise<MessageInitShape<typeof MessageSchema> | undefined> {
    const [what, rest] = wordsOf(message);
    if (what === "reply") return { parts: [textPart(`re: ${rest}`)] };
    if (what === "reply-extensions") return { parts: [textPart(`active: ${extensions.join(" ")}`)] };
    if (what === "reply-invalid") return { parts: [] };
    if (what === "reply-throw") throw new Error("a secret of the agent");
    if (what === "reply-never") return new Promise(() => undefined);
    return undefined;
  }

  run(turn: Turn): AsyncIterable<AgentEvent> {
    const [what, name = ""] = wordsOf(turn.message);
    const scenario = SCENARIOS[what];
    if (scenario === undefined) throw new TypeError(`no scenario ${what}`);
    return scenario(turn, this.#gates.get(name) ?? new Gate(name));
  }
}

function wordsOf({ parts }: { readonly parts: readonly { readonly content: { readonly value?: unknown } }[] }): [string, string?] {
  const [what = "", name] = String(parts[0]?.content.value).split(" ");
  return name === undefined ? [what] : [what, name];
}

type Scenario = (turn: Turn, gate: Gate) => AsyncIterable<AgentEvent>;

/** U+0085, U+2028 and U+2029 end lines for some readers of SSE; the other three end them for all. */
export const LINE_ENDS = "a\u0085b\u2028c\u2029d\ne\rf\r\ng";

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  /** An artifact and COMPLETED. */
  async *complete() {
    yield artifact({ artifactId: "a", name: "answer", parts: [textPart("forty-two")] }, { lastChunk: true });
    yield completed("done");
  },
  /** Nothing at all: returning means COMPLETED. */
  async *return() {},
  async *reject() {
    yield rejected("not for me");
  },
  async *fail() {
    yield failed("it broke");
  },
  async *throw() {
    yield working("about to break");
    throw new Error("a secret of the agent");
  },
  /** An artifact without a part. */
  async *invalid() {
    yield artifact({ artifactId: "a", parts: [] });
  },
  async *input() {
    yield inputRequired("which one?");
  },
  async *auth() {
    yield authRequired("log in at https://login.example/");
  },
  /** Asks and stays: the answer comes to the same turn. */
  async *alive(turn) {
    yield inputRequired("which one?");
    const answer = await turn.next();
    if (answer === undefined) return;
    yield artifact({ artifactId: "a", parts: [textPart(`you said ${wordsOf(answer)[0]}`)] });
    yield completed("thanks");
  },
  /** The credential comes out of band: goes on by itself after AUTH_REQUIRED. */
  async *"auth-then-on"(turn, gate) {
    yield authRequired("log in at https://login.example/");
    if (!(await gate.pass(turn))) return;
    yield working("authorized");
    yield completed("done");
  },
  /** Says nothing until let through. */
  async *silent(turn, gate) {
    if (await gate.pass(turn)) yield completed("at last");
  },
  /** Working, then waits. Ends with CANCELED of its own when aborted. */
  async *slow(turn, gate) {
    yield working("on it");
    yield (await gate.pass(turn)) ? completed("done") : canceled("stopped");
  },
  /** Does not hear a cancel; whatever it yields then may still win. */
  async *deaf(turn, gate) {
    yield working("on it");
    await gate.pass(turn, { deaf: true });
    yield completed("done anyway");
  },
  /** Says nothing until let through, whatever happens meanwhile; then all there is. */
  async *later(turn, gate) {
    try {
      await gate.pass(turn, { deaf: true });
      yield working("late");
      yield artifact({ artifactId: "a", parts: [textPart("forty-two")] }, { lastChunk: true });
      yield completed("done");
    } finally {
      gate.leave();
    }
  },
  /** Asks, and does not wait for the answer. */
  async *"ask-and-go-on"(turn, gate) {
    yield working("about to ask");
    if (!(await gate.pass(turn))) return;
    yield inputRequired("which one?");
    yield artifact({ artifactId: "a", parts: [textPart("all the same")] }, { lastChunk: true });
    yield completed("done");
  },
  /** Three chunks of one artifact and a status between, each after a pass. */
  async *chunks(turn, gate) {
    const chunk = (text: string, options: { append?: boolean; lastChunk?: boolean }): AgentEvent =>
      artifact({ artifactId: "log", name: "log.txt", parts: [textPart(text)] }, options);
    yield chunk("one ", {});
    if (!(await gate.pass(turn))) return;
    yield chunk("two ", { append: true });
    if (!(await gate.pass(turn))) return;
    yield working("nearly there");
    if (!(await gate.pass(turn))) return;
    yield chunk("three", { append: true, lastChunk: true });
    yield completed("done");
  },
  /** Says which extensions the call has activated. */
  async *extensions(turn) {
    yield completed(`active: ${turn.extensions.join(" ")}`);
  },
  /** Status messages, for histories. */
  async *talk() {
    yield working("first");
    yield working("second");
    yield completed("third");
  },
  /** An artifact whose text holds all that ends a line somewhere. */
  async *lines() {
    yield artifact({ artifactId: "a", parts: [textPart(LINE_ENDS)] });
  },
  /** With acceptsMessages: takes one more message, then ends. */
  async *converse(turn, gate) {
    yield working("listening");
    const said = await turn.next();
    if (said === undefined || !(await gate.pass(turn))) return;
    yield completed(`heard ${wordsOf(said)[0]}`);
  },
};
