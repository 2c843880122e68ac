/** The agent that both sides of the interop run know: the first word of the text says what becomes of the task. */
import { setTimeout as delay } from "node:timers/promises";
import { type Agent, type AgentEvent, artifact, completed, failed, inputRequired, textPart, type Turn, working } from "../../src/index.ts";

const SLOW_MS = 60_000;

const agent: Agent = {
  card: {
    name: "words",
    description: "Does what the first word says",
    version: "1",
    skills: [{ id: "words", name: "Words", description: "Does what the first word says", tags: [], examples: ["echo x"] }],
  },
  run: (turn) => (turn.history.length > 1 ? said(textOf(turn.message)) : work(turn)),
  reply: ({ message }) => {
    const { word, rest } = words(textOf(message));
    return Promise.resolve(word === "message" ? { parts: [textPart(rest)] } : undefined);
  },
};
export default agent;

async function* work({ message, signal }: Turn): AsyncGenerator<AgentEvent> {
  const { word, rest } = words(textOf(message));
  if (word === "echo") yield* said(rest);
  else if (word === "stream") yield* chunks(rest, signal);
  else if (word === "ask") yield inputRequired("What shall it say?");
  else if (word === "slow") {
    yield working();
    await delay(SLOW_MS, undefined, { signal });
  } else if (word === "fail") yield failed("It was told to fail");
  else yield failed(`${word} is no word of this agent`);
}

async function* said(text: string): AsyncGenerator<AgentEvent> {
  yield artifact({ artifactId: "text", parts: [textPart(text)] }, { lastChunk: true });
  yield completed();
}

async function* chunks(numbers: string, signal: AbortSignal): AsyncGenerator<AgentEvent> {
  const [count = 0, ms = 0] = numbers.split(" ").map(Number);
  yield working();
  for (let chunk = 1; chunk <= count; chunk += 1) {
    if (chunk > 1) await delay(ms, undefined, { signal });
    yield artifact({ artifactId: "chunks", parts: [textPart(`c${chunk} `)] }, { append: chunk > 1, lastChunk: chunk === count });
  }
  yield completed();
}

function textOf({ parts }: Turn["message"]): string {
  return parts.map(({ content }) => (content.case === "text" ? content.value : "")).join("");
}

function words(text: string): { readonly word: string; readonly rest: string } {
  const [, word = "", rest = ""] = /^(\S*)\s*(.*)$/s.exec(text) ?? [];
  return { word, rest };
}
