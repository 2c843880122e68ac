/** An agent for suites that speak to it: the first word of the text says what it does. */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Agent,
  type AgentEvent,
  artifact,
  authRequired,
  bytesPart,
  completed,
  dataPart,
  failed,
  inputRequired,
  type Message,
  rejected,
  textPart,
  type Turn,
  working,
} from "../../src/index.ts";

/** The extension that the card declares beside the server's own: it does nothing but to be known. */
export const DUMMY_EXTENSION = "urn:throughline:conformance:dummy-extension:v1";

/** How often, and how many times, `slow` says that it still works: half a minute, unless it is canceled. */
const SLOW_STEP_MS = 500;
const SLOW_STEPS = 60;

type Command = (turn: Turn, rest: string) => AsyncIterable<AgentEvent>;

const COMMANDS: Readonly<Record<string, Command>> = {
  echo: (_, rest) => delivered(rest),
  async *stream() {
    yield working("one");
    yield artifact({ artifactId: "stream", parts: [textPart("first ")] });
    yield working("two");
    yield artifact({ artifactId: "stream", parts: [textPart("second")] }, { append: true, lastChunk: true });
    yield completed("streamed");
  },
  async *ask() {
    yield inputRequired("What is your answer?");
  },
  async *auth() {
    yield authRequired("Log in at https://login.example/, then send any message on this task.");
  },
  async *slow({ signal }) {
    for (let step = 1; step <= SLOW_STEPS; step++) {
      yield working(`step ${step} of ${SLOW_STEPS}`);
      await sleep(SLOW_STEP_MS, undefined, { signal });
    }
    yield completed("done at last");
  },
  async *fail() {
    yield failed("failed, as it was told to");
  },
  async *reject() {
    yield rejected("rejected, as it was told to");
  },
  async *file() {
    yield artifact(
      { artifactId: "file", name: "hello.txt", parts: [bytesPart(Buffer.from("hello, file\n"), "hello.txt", "text/plain")] },
      { lastChunk: true },
    );
    yield completed();
  },
  async *data() {
    const parts = [dataPart({ text: "hello", number: 42, list: [1, 2, 3], nested: { nothing: null, yes: true } }, "application/json")];
    yield artifact({ artifactId: "data", parts }, { lastChunk: true });
    yield completed();
  },
  async *multi() {
    for (const name of ["first", "second", "third"]) {
      yield artifact({ artifactId: name, name, parts: [textPart(`the ${name} artifact`)] }, { lastChunk: true });
    }
    yield completed();
  },
  async *ext({ extensions }) {
    const parts = [dataPart({ activated: [...extensions] }, "application/json")];
    yield artifact({ artifactId: "extensions", extensions: [...extensions], parts }, { lastChunk: true });
    yield completed();
  },
};

/** Does what the first word says; a text without a known one is echoed. A follow-up completes its task, whatever it says. */
export const dummyAgent: Agent = {
  card: {
    name: "Dummy",
    description: "Does what the first word of a text says, for conformance suites.",
    version: "1.0.0",
    defaultInputModes: ["text/plain", "application/json"],
    defaultOutputModes: ["text/plain", "application/json"],
    capabilities: { extensions: [{ uri: DUMMY_EXTENSION, description: "Changes nothing; the command ext tells whether it is active." }] },
    skills: [
      {
        id: "commands",
        name: "Commands",
        description: `First words: ${Object.keys(COMMANDS).join(", ")}.`,
        tags: ["conformance", "test"],
        examples: ["echo hello", "stream", "ask", "slow"],
      },
    ],
  },
  run(turn) {
    const text = textOf(turn.message);
    const [first = ""] = text.trimStart().split(/\s/u, 1);
    if (turn.history.length > 1) return delivered(text);
    const command = Object.hasOwn(COMMANDS, first) ? COMMANDS[first] : undefined;
    return command === undefined ? delivered(text) : command(turn, text.trimStart().slice(first.length).trimStart());
  },
};

function textOf({ parts }: Message): string {
  return parts.map(({ content }) => (content.case === "text" ? content.value : "")).join("");
}

async function* delivered(text: string): AsyncGenerator<AgentEvent> {
  yield artifact({ artifactId: "answer", parts: [textPart(text)] }, { lastChunk: true });
  yield completed(text);
}
