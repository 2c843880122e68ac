/** The caller of one task who uses `throughline/client` and leaves everything to it: no call is made again here. */
import { setTimeout as delay } from "node:timers/promises";
import { A2AError } from "../../src/client/a2a-error.ts";
import { isInterrupted, stateOf } from "../../src/core/task.ts";
import { ClientRun } from "./client-run.ts";
import type { Ledger, LedgerTask } from "./ledger.ts";
import type { Passages } from "./passages.ts";
import type { Random } from "./random.ts";
import { drawScenario, type Scenario, scriptText } from "./script.ts";

/** What these callers share. */
export interface ClientCallerContext {
  readonly passages: Passages;
  readonly ledger: Ledger;
  readonly runs: ClientRun[];
  /** Ends all waiting at the end of the run's time. */
  readonly over: AbortSignal;
}

/** Sends a task drawn from `random`, and does all that its caller does until it is over or waits for nobody. */
export async function callWithClient(context: ClientCallerContext, random: Random): Promise<void> {
  await new ClientCaller(context, random, drawScenario(random.fork("scenario"))).run();
}

class ClientCaller {
  readonly #context: ClientCallerContext;
  readonly #random: Random;
  readonly #scenario: Scenario;
  #task: LedgerTask | undefined;

  constructor(context: ClientCallerContext, random: Random, scenario: Scenario) {
    this.#context = context;
    this.#random = random;
    this.#scenario = scenario;
  }

  async run(): Promise<void> {
    const { ledger } = this.#context;
    const messageId = this.#random.uuid();
    const run = this.#send("send", messageId, scriptText(this.#scenario.steps), this.#random);
    const taskId = await run.known;
    // What it failed with is judged with all runs.
    if (taskId === undefined) return;
    ledger.acknowledge(messageId, taskId);
    this.#task = ledger.open(taskId, this.#scenario.shape, messageId);
    await Promise.all([this.#cancel(run), this.#talk(), this.#answer(run), this.#follow(taskId)]);
  }

  #send(what: string, messageId: string, text: string, random: Random): ClientRun {
    const { passages, runs, over } = this.#context;
    const wait = random.pick(["stream", "stream", "poll", "block"] as const);
    const passage = passages.draw(random);
    const parts = [{ content: { case: "text" as const, value: text } }];
    const taskId = this.#task?.taskId;
    const sent = passage.client.send({ messageId, parts }, { wait, signal: over, ...(taskId !== undefined && { taskId }) });
    const run = new ClientRun(`${what}, ${wait}`, sent, passage);
    runs.push(run);
    return run;
  }

  /** Cancels when the scenario says so. */
  async #cancel(run: ClientRun): Promise<void> {
    const { cancelAfterMs } = this.#scenario;
    if (cancelAfterMs === undefined) return;
    await this.#wait(cancelAfterMs);
    try {
      await run.cancel();
      (this.#task as LedgerTask).canceled = true;
    } catch (error) {
      if (!(error instanceof A2AError && error.reason === "TASK_NOT_CANCELABLE")) this.#odd(`a cancel failed: ${String(error)}`);
    }
  }

  /** Says something while the task works. */
  async #talk(): Promise<void> {
    const random = this.#random.fork("talk");
    let since = 0;
    for (const at of this.#scenario.messagesAtMs) {
      await this.#wait(at - since);
      since = at;
      const run = await this.#followUp(random);
      if (run === undefined) return;
      await run.done;
    }
  }

  /** Answers what is asked, as often as planned, until the task is over or waits in vain. */
  async #answer(first: ClientRun): Promise<void> {
    const random = this.#random.fork("answer");
    let run = first;
    for (let left = this.#scenario.answers; ; left -= 1) {
      await run.done;
      if (run.rest === undefined || !isInterrupted(stateOf(run.rest)) || left === 0) return;
      const next = await this.#followUp(random);
      if (next === undefined) return;
      run = next;
    }
  }

  /** Another reader, who comes when he comes. */
  async #follow(taskId: string): Promise<void> {
    const random = this.#random.fork("follow");
    const { passages, runs, over } = this.#context;
    if (random.chance(0.5)) return;
    await this.#wait(random.between(0, 1500));
    const until = this.#scenario.answers === Infinity && random.chance(0.5) ? "terminal" : "rest";
    const passage = passages.draw(random);
    const followed = passage.client.follow(taskId, { signal: over, until });
    const run = new ClientRun(`follow until ${until}`, followed, passage);
    runs.push(run);
    await run.done;
  }

  /** Sends the next message on the task. Answers its run, or undefined where the task had ended meanwhile. */
  async #followUp(random: Random): Promise<ClientRun | undefined> {
    const { runs } = this.#context;
    const { taskId, followUps } = this.#task as LedgerTask;
    const messageId = random.uuid();
    const run = this.#send("follow-up", messageId, "go on", random);
    const known = await run.known;
    const refused = known === undefined && run.refusal === "UNSUPPORTED_OPERATION";
    followUps.push({ messageId, tries: 1, outcome: known === undefined ? "refused" : "accepted" });
    if (known !== undefined && known !== taskId) this.#odd(`a follow-up was answered with ${known}`);
    if (!refused) return run;
    runs.splice(runs.indexOf(run), 1);
    return undefined;
  }

  #odd(what: string): void {
    this.#context.ledger.odd.push({ taskId: this.#task?.taskId ?? "", what });
  }

  async #wait(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#context.over });
  }
}
