/** What the callers of a run were told: what was acknowledged must be there in the end. */

/** A message that was sent, and what the sends of it were answered. */
interface SentMessage {
  readonly messageId: string;
  /** Times it was sent until it was answered. */
  readonly tries: number;
  readonly outcome: "accepted" | "refused";
}

/** A task as its caller knows it. */
export interface LedgerTask {
  readonly taskId: string;
  readonly shape: string;
  readonly messageId: string;
  readonly followUps: SentMessage[];
  /** CancelTask was answered with the task. */
  canceled: boolean;
}

/** Something that no fault excuses, said by whoever saw it. */
export interface Odd {
  readonly taskId: string;
  readonly what: string;
}

/** What the callers know. */
export class Ledger {
  readonly tasks = new Map<string, LedgerTask>();
  /** Tasks that were acknowledged and then not found. */
  readonly missing = new Set<string>();
  /** Answers that should not have been. */
  readonly odd: Odd[] = [];
  /** Ids of tasks that sends of one message were answered with, where they were more than one. */
  readonly twice: Odd[] = [];
  readonly #acknowledged = new Map<string, string>();
  /** Sends that were made again. */
  repeated = 0;

  /** A send of this message was answered with this task. */
  acknowledge(messageId: string, taskId: string): void {
    const first = this.#acknowledged.get(messageId);
    if (first !== undefined && first !== taskId) this.twice.push({ taskId, what: `message ${messageId} began ${first} and this one` });
    this.#acknowledged.set(messageId, taskId);
  }

  open(taskId: string, shape: string, messageId: string): LedgerTask {
    const task = { taskId, shape, messageId, followUps: [], canceled: false };
    this.tasks.set(taskId, task);
    return task;
  }
}
