/** A small run that kept its promises, for the tests of the checks. */
import { testAgent } from "../../src/testing/index.ts";
import { chaosAgent, type Given } from "./agent.ts";
import type { RunEnd, TaskEnd } from "./check-run.ts";
import type { Followed, SeenFrame } from "./follower.ts";
import { scriptText, type Step } from "./script.ts";

/** One task that was asked something, answered and done, and one reader who came twice. */
export interface GoodRun {
  readonly task: TaskEnd;
  readonly follower: Followed;
  readonly run: RunEnd;
}

const STEPS: readonly Step[] = [
  { is: "chunk", times: 3, bytes: 10, pauseMs: 0 },
  { is: "ask", times: 1, stay: false, auth: false },
  { is: "chunk", times: 3, bytes: 10, pauseMs: 0 },
  { is: "end", times: 1, how: "completed" },
];

/** Runs it. */
export async function goodRun(): Promise<GoodRun> {
  const given: Given[] = [];
  await using harness = await testAgent(chaosAgent({ resumable: true, given: (one) => given.push(one) }));
  const text = (value: string) => ({ parts: [{ content: { case: "text" as const, value } }] });
  const handle = await harness.send({ messageId: "m1", ...text(scriptText(STEPS)) });
  await handle.task();
  const answered = await handle.followUp({ messageId: "m2", ...text("go on") });
  const done = await answered.task();
  const { taskId } = handle;
  const entries = [...(await harness.log(taskId))];
  const ledger = {
    taskId,
    shape: "asking",
    messageId: "m1",
    followUps: [{ messageId: "m2", tries: 1, outcome: "accepted" as const }],
    canceled: false,
  };
  const ids = new Set(given.map(({ messageId }) => messageId));
  const task: TaskEnd = { taskId, entries, task: done, custody: "nobody", given: ids, ledger };
  const follower = readerOf(task);
  const run: RunEnd = {
    tasks: [task],
    followers: [follower],
    listed: [taskId],
    odd: [],
    twice: [],
    missing: new Set(),
    replicas: [],
  };
  return { task, follower, run };
}

/** Who saw every event, over two visits. */
function readerOf({ taskId, entries }: TaskEnd): Followed {
  const events = entries.filter(({ kind }) => kind === "event");
  const frames = events.map((entry, index): SeenFrame => {
    const { offset, mark, event, time } = entry;
    return { response: event, position: { offset, mark }, visit: index < 4 ? 0 : 1, at: time + 1 };
  });
  const [first, last] = [events[0]?.time ?? 0, events.at(-1)?.time ?? 0];
  const visit = { replica: "r", binding: "grpc", opened: first, closed: last + 1, end: "closed" };
  return {
    taskId,
    frames,
    visits: [
      { ...visit, from: undefined },
      { ...visit, from: frames[3]?.position },
    ],
    state: "ended",
  };
}
