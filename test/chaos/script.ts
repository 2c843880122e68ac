/** What a task of the run does: the agent reads it in the task's first message. */
import type { Random } from "./random.ts";

/** How a script ends. `return` leaves COMPLETED to the server, `throw` FAILED. */
type Ending = "completed" | "failed" | "rejected" | "throw" | "return";

/** One thing that the agent does, `times` times. */
export type Step =
  | { readonly is: "chunk"; readonly times: number; readonly bytes: number; readonly pauseMs: number }
  | { readonly is: "say"; readonly times: number; readonly pauseMs: number }
  /** Asks its caller; `stay`: waits for the answer in the same turn. */
  | { readonly is: "ask"; readonly times: number; readonly stay: boolean; readonly auth: boolean }
  /** Waits so long for a message while it works. */
  | { readonly is: "hear"; readonly times: number; readonly forMs: number }
  | { readonly is: "end"; readonly times: 1; readonly how: Ending };

/** A task as its caller has planned it. */
export interface Scenario {
  readonly shape: string;
  readonly steps: readonly Step[];
  /** Cancels so long after the task exists. */
  readonly cancelAfterMs: number | undefined;
  /** Sends a message to the working task so long after it exists. */
  readonly messagesAtMs: readonly number[];
  /** How many questions are answered. */
  readonly answers: number;
}

const end = (how: Ending = "completed"): Step => ({ is: "end", times: 1, how });
const chunks = (times: number, bytes: number, pauseMs = 0): Step => ({ is: "chunk", times, bytes, pauseMs });
const scenario = (shape: string, steps: readonly Step[], more: Partial<Scenario> = {}): Scenario => ({
  shape,
  steps,
  cancelAfterMs: undefined,
  messagesAtMs: [],
  answers: Infinity,
  ...more,
});

/** Shapes of tasks. Each draws its measures. */
const SHAPES: Readonly<Record<string, (random: Random) => Scenario>> = {
  short: (random) => scenario("short", [chunks(random.between(1, 3), 20), end(random.pick(["completed", "return"]))]),
  chunky: (random) => scenario("chunky", [chunks(random.between(50, 300), random.between(20, 500)), end()]),
  large: (random) => scenario("large", [chunks(random.between(3, 10), random.between(10_000, 40_000), random.between(0, 50)), end()]),
  long: (random) =>
    scenario("long", [chunks(random.between(40, 150), 100, random.between(10, 60)), end(random.pick(["completed", "return"]))]),
  slow: (random) => scenario("slow", [{ is: "say", times: random.between(4, 12), pauseMs: random.between(300, 1200) }, end()]),
  asking: (random) => scenario("asking", [...questions(random, false), end()]),
  staying: (random) => scenario("staying", [...questions(random, true), end("return")]),
  authorized: (random) =>
    scenario("authorized", [chunks(2, 50), { is: "ask", times: 1, stay: random.chance(0.5), auth: true }, chunks(2, 50), end()]),
  unanswered: (random) => scenario("unanswered", [...questions(random, random.chance(0.3)), end()], { answers: random.between(0, 1) }),
  hearing: (random) => {
    const messagesAtMs = Array.from({ length: random.between(1, 3) }, () => random.between(0, 2500)).toSorted((a, b) => a - b);
    const hear: Step = { is: "hear", times: random.between(1, 3), forMs: random.between(500, 2000) };
    return scenario("hearing", [chunks(5, 50, 20), hear, chunks(10, 50, 50), end(random.pick(["completed", "return"]))], { messagesAtMs });
  },
  canceled: (random) =>
    scenario("canceled", [chunks(random.between(20, 100), 100, random.between(20, 80)), end()], { cancelAfterMs: random.between(0, 3000) }),
  failing: (random) =>
    scenario("failing", [chunks(random.between(0, 20), 50, random.between(0, 20)), end(random.pick(["failed", "rejected", "throw"]))]),
};

function questions(random: Random, stay: boolean): Step[] {
  const round = (): Step[] => [chunks(random.between(1, 10), 50, random.between(0, 30)), { is: "ask", times: 1, stay, auth: false }];
  return Array.from({ length: random.between(1, 3) }, round).flat();
}

/** Draws a task. */
export function drawScenario(random: Random): Scenario {
  return (SHAPES[random.pick(Object.keys(SHAPES))] as (typeof SHAPES)[string])(random);
}

/** The script as the text of a message. */
export function scriptText(steps: readonly Step[]): string {
  return JSON.stringify(steps);
}

/** Reads {@link scriptText}, each step as often as it says. */
export function readScript(text: string): Step[] {
  const steps = JSON.parse(text) as Step[];
  return steps.flatMap((step) => Array.from({ length: step.times }, () => step));
}

/** What the text of each of the agent's events begins with: its running number, and how many steps were done with it. */
export interface Numbered {
  readonly number: number;
  readonly done: number;
}

/** {@link Numbered} as text: `#<number>/<done>`. */
export function formatNumber({ number, done }: Numbered): string {
  return `#${number}/${done}`;
}

/** Reads what {@link formatNumber} wrote at the beginning of a text. */
export function parseNumber(text: string): Numbered | undefined {
  const match = /^#(\d+)\/(\d+)/.exec(text);
  return match === null ? undefined : { number: Number(match[1]), done: Number(match[2]) };
}

/** What the agent says when it has taken a message. */
export function heardText(messageId: string): string {
  return `heard ${messageId}`;
}
