/** Deliveries in memory: the cursors of webhooks, and who has claimed them. */
import type { Delivery, DeliveryClaim, DeliveryReport, LetGo, ReportReply } from "../../core/deliveries.ts";
import type { Position } from "../../core/log-entry.ts";
import type { TaskRecord } from "./task-record.ts";

/** One webhook's progress, as stored. */
type Cursor = Omit<Delivery, "config" | "waitMs"> & { readonly notBefore: number };

/** The webhooks of one task. */
interface TaskDeliveries {
  readonly cursors: Map<string, Cursor>;
  token: string;
  /** When somebody is to look: the end of a claim, the next attempt, or at once. Undefined: when there is something new. */
  due: number | undefined;
}

/** Leads deliveries. The tasks are the store's. */
export class MemoryDeliveries {
  readonly #claimMs: number;
  readonly #now: () => number;
  readonly #tasks = new Map<TaskRecord, TaskDeliveries>();
  /** Called when something became due. */
  onDue: (taskId: string) => void = () => undefined;

  constructor(claimMs: number, now: () => number) {
    this.#claimMs = claimMs;
    this.#now = now;
  }

  /**
   * Attaches a webhook: it gets what comes after the position. One that is there goes on where it is, at once and as if it had never failed; where
   * the log is not kept that far back, with the task.
   */
  attach(task: TaskRecord, configId: string, after: Position): void {
    const known = this.#tasks.get(task) ?? { cursors: new Map<string, Cursor>(), token: "", due: undefined };
    this.#tasks.set(task, known);
    const cursor = known.cursors.get(configId);
    if (cursor?.is === "done") return;
    const is = cursor === undefined && task.terminal ? "done" : "active";
    const { offset, mark } = cursor?.acknowledged ?? after;
    // No entry has an empty mark: to be behind a place that is not kept is to belong to another history.
    const acknowledged =
      cursor !== undefined && offset + 1 < task.firstOffset ? { offset: task.firstOffset - 1, mark: "" } : { offset, mark };
    known.cursors.set(configId, { is, acknowledged, failures: 0, cause: "", notBefore: 0 });
    if (is === "done") return;
    this.#mark(known);
    // Whoever has the claim learns of a new webhook.
    this.onDue(task.id);
  }

  detach(task: TaskRecord, configId: string): void {
    this.#tasks.get(task)?.cursors.delete(configId);
  }

  /** Entries were appended. */
  appended(task: TaskRecord): void {
    const known = this.#tasks.get(task);
    if (known !== undefined && active(known) && this.#mark(known)) this.onDue(task.id);
  }

  /** How many tasks have something to deliver that nobody works on. */
  get due(): number {
    const now = this.#now();
    let count = 0;
    for (const { due } of this.#tasks.values()) if (due !== undefined && due <= now) count += 1;
    return count;
  }

  /** The task is gone. */
  forget(task: TaskRecord): void {
    this.#tasks.delete(task);
  }

  /** False where somebody has the claim: a claimer follows the log. */
  #mark(known: TaskDeliveries): boolean {
    if (known.token !== "") return false;
    known.due = Math.min(known.due ?? Infinity, this.#now());
    return true;
  }

  claim(token: string, limit: number): DeliveryClaim[] {
    const claims: DeliveryClaim[] = [];
    for (const [task, known] of this.#tasks) {
      if (claims.length >= limit) break;
      if (known.due === undefined || known.due > this.#now()) continue;
      if (active(known)) {
        known.token = token;
        known.due = this.#now() + this.#claimMs;
        claims.push({ taskId: task.id, token });
      } else {
        known.token = "";
        known.due = undefined;
      }
    }
    return claims;
  }

  of(task: TaskRecord): Delivery[] {
    const cursors = this.#tasks.get(task)?.cursors;
    return task.pushConfigs.flatMap((config) => {
      const cursor = cursors?.get(config.id);
      if (cursor === undefined) return [];
      const { notBefore, ...progress } = cursor;
      return [{ ...progress, config, waitMs: Math.max(0, notBefore - this.#now()) }];
    });
  }

  hold(task: TaskRecord | undefined, token: string): boolean {
    const known = task && this.#tasks.get(task);
    if (known?.token !== token) return false;
    known.due = this.#now() + this.#claimMs;
    return true;
  }

  report(task: TaskRecord | undefined, token: string, { configId, retryInMs, ...report }: DeliveryReport): ReportReply {
    const known = task && this.#tasks.get(task);
    if (known?.token !== token) return "lost";
    const cursor = known.cursors.get(configId);
    if (cursor === undefined) return "gone";
    const { is, failures, cause } = report;
    const acknowledged = report.acknowledged.offset >= cursor.acknowledged.offset ? report.acknowledged : cursor.acknowledged;
    const notBefore = retryInMs > 0 ? this.#now() + retryInMs : 0;
    known.cursors.set(configId, { is, acknowledged, failures, cause, notBefore });
    return "recorded";
  }

  letGo(task: TaskRecord | undefined, token: string, { webhooks, seen, againInMs }: LetGo): boolean {
    const known = task && this.#tasks.get(task);
    if (task === undefined || known?.token !== token) return true;
    const count = [...known.cursors.values()].filter(({ is }) => is === "active").length;
    if (count > webhooks || (count > 0 && task.position.offset > seen)) return false;
    known.token = "";
    known.due = count > 0 && againInMs !== undefined ? this.#now() + againInMs : undefined;
    return true;
  }

  /** The first entry that a webhook of the task still needs and that is not too far behind; Infinity where none does. */
  needed(task: TaskRecord, lagBytes: number): number {
    const cursors = [...(this.#tasks.get(task)?.cursors.values() ?? [])].filter(({ is }) => is === "active");
    if (cursors.length === 0) return Infinity;
    const next = Math.min(...cursors.map(({ acknowledged }) => acknowledged.offset + 1));
    let bytes = 0;
    for (let at = task.entries.length - 1; at >= 0; at -= 1) {
      const entry = task.entries[at];
      bytes += entry?.bytes.length ?? 0;
      if (bytes > lagBytes) return Math.max(next, (entry?.offset ?? 0) + 1);
      if ((entry?.offset ?? 0) <= next) break;
    }
    return next;
  }
}

function active({ cursors }: TaskDeliveries): boolean {
  return [...cursors.values()].some(({ is }) => is === "active");
}
