/** The agent that the A2A conformance kit drives: the prefix of the message's id says what it does. */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Agent,
  type AgentEvent,
  artifact,
  authRequired,
  bytesPart,
  completed,
  dataPart,
  inputRequired,
  type PartInit,
  rejected,
  textPart,
  type Turn,
  urlPart,
  working,
} from "../../src/index.ts";

/** How long a task stays WORKING: that of a resubscription, and that which a blocking send waits for. */
const RESUBSCRIBE_MS = 4000;
const DELAYED_MS = 2000;

const ARTIFACT_ID = "output";
const FILE = bytesPart(Buffer.from("tck"), "output.txt", "text/plain");

type Behaviour = (turn: Turn) => AsyncIterable<AgentEvent>;

/** What each prefix asks for. The longest one counts, so the order does not matter. */
const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  async *"tck-complete-task"() {
    yield completed("Hello from TCK");
  },
  async *"tck-input-required"() {
    yield inputRequired("Input required");
  },
  async *"tck-auth-required"() {
    yield authRequired("Authorization required");
  },
  async *"tck-delayed-complete"({ signal }) {
    yield working();
    await sleep(DELAYED_MS, undefined, { signal });
    yield completed("Done after delay");
  },
  "tck-artifact-text": () => delivered(textPart("Generated text content")),
  "tck-artifact-file": () => delivered(FILE),
  "tck-artifact-file-url": () => delivered(urlPart("https://example.com/output.txt", "output.txt", "text/plain")),
  "tck-artifact-data": () => delivered(dataPart({ key: "value", count: 42 })),
  async *"tck-reject-task"() {
    yield rejected("Rejected");
  },
  "tck-stream-001": () => worked(delivered(textPart("Stream hello from TCK"))),
  async *"tck-stream-002"() {
    yield completed();
  },
  "tck-stream-003": () => worked(delivered(textPart("Stream task lifecycle"))),
  "tck-stream-ordering-001": () => worked(delivered(textPart("Ordered output"))),
  "tck-stream-artifact-text": () => worked(delivered(textPart("Streamed text content"))),
  "tck-stream-artifact-file": () => worked(delivered(FILE)),
  async *"tck-stream-artifact-chunked"() {
    yield working();
    yield artifact({ artifactId: ARTIFACT_ID, parts: [textPart("chunk-1 ")] });
    yield artifact({ artifactId: ARTIFACT_ID, parts: [textPart("chunk-2")] }, { append: true, lastChunk: true });
    yield completed();
  },
  async *"test-resubscribe-message-id"({ signal }) {
    yield working();
    await sleep(RESUBSCRIBE_MS, undefined, { signal });
    yield completed();
  },
};

const LONGEST_FIRST = Object.entries(BEHAVIOURS).toSorted(([a], [b]) => b.length - a.length);

/** Does what the prefix of the message's id says; any other message completes its task. A cancel ends the task at once. */
export const tckAgent: Agent = {
  card: {
    name: "Conformance agent",
    description: "Does what the prefix of a message's id says, for conformance suites.",
    version: "1.0.0",
    defaultInputModes: ["text/plain", "application/json"],
    defaultOutputModes: ["text/plain", "application/json"],
    skills: [
      {
        id: "conformance",
        name: "Conformance",
        description: "Acts by the prefix of messageId, as tck-complete-task or tck-artifact-text.",
        tags: ["conformance", "test"],
        examples: ["hello"],
      },
    ],
  },
  async reply({ message }) {
    return message.messageId.startsWith("tck-message-response") ? { parts: [textPart("Direct message response")] } : undefined;
  },
  run(turn) {
    const { messageId } = turn.message;
    const [, behaviour = named] = LONGEST_FIRST.find(([prefix]) => messageId.startsWith(prefix)) ?? [];
    return behaviour(turn);
  },
};

/** Says which message it was, so that a suite that reads the answer sees its own id. */
async function* named({ message }: Turn): AsyncGenerator<AgentEvent> {
  yield completed(`Handled ${message.messageId}`);
}

async function* delivered(part: PartInit): AsyncGenerator<AgentEvent> {
  yield artifact({ artifactId: ARTIFACT_ID, parts: [part] }, { lastChunk: true });
  yield completed();
}

async function* worked(rest: AsyncIterable<AgentEvent>): AsyncGenerator<AgentEvent> {
  yield working();
  yield* rest;
}
