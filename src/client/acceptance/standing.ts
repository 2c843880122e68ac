/** What a context's records come to: which one counts for an artifact, which is current for a piece of work. */
import type { AcceptanceRecord, RecordDraft } from "./record.ts";

type Subject = Pick<AcceptanceRecord, "taskId" | "artifactId" | "messageId">;

/** The last word on one artifact of one task. */
export function latestOf(records: readonly AcceptanceRecord[], subject: Subject): AcceptanceRecord | undefined {
  return records.findLast(
    ({ taskId, artifactId, messageId }) =>
      taskId === subject.taskId && artifactId === subject.artifactId && (taskId !== "" || messageId === subject.messageId),
  );
}

/** The accepted record that stands for a piece of work: the last one that was not held or rejected afterwards. */
export function currentOf(records: readonly AcceptanceRecord[], work: string): AcceptanceRecord | undefined {
  return records.findLast((record) => record.decision === "accepted" && record.work === work && latestOf(records, record) === record);
}

/** The pieces of work that have a current record. */
export function worksOf(records: readonly AcceptanceRecord[]): readonly string[] {
  const works = [...new Set(records.map(({ work }) => work))];
  return works.filter((work) => currentOf(records, work) !== undefined);
}

/** Whether a task that refers to these refines a task: directly, or by way of tasks that were recorded. */
export function refines(records: readonly AcceptanceRecord[], referenceTaskIds: readonly string[], taskId: string): boolean {
  const reached = new Set(referenceTaskIds);
  // What is added while it is gone through is gone through too.
  for (const id of reached) {
    for (const record of records) if (record.taskId === id) for (const further of record.referenceTaskIds) reached.add(further);
  }
  return reached.has(taskId);
}

/**
 * The piece of work that an artifact is a version of, where nobody says: its name, which agents keep when they refine; or, where it is the
 * only one and has none, the work of the tasks that its task refines; else its id.
 */
export function workOf(
  records: readonly AcceptanceRecord[],
  { artifactId, name, alone, referenceTaskIds }: { artifactId: string; name: string; alone: boolean; referenceTaskIds: readonly string[] },
): string {
  if (name !== "") return name;
  const refined = new Set(records.filter(({ taskId }) => referenceTaskIds.includes(taskId)).map(({ work }) => work));
  const [work] = refined;
  return alone && work !== undefined && refined.size === 1 ? work : artifactId;
}

/** Whether a decision says what the last one on the same artifact said: then it is the same notice once more. */
export function repeats(last: AcceptanceRecord, decision: Pick<AcceptanceRecord, "decision" | "reason">, draft: RecordDraft): boolean {
  return grounds(last, last) === grounds(decision, draft);
}

function grounds({ decision, reason }: Pick<AcceptanceRecord, "decision" | "reason">, draft: RecordDraft): string {
  const { by, work, observed, content, criteria, checks, gaps } = draft;
  const made = checks.map((check) => [check.criterion, check.passed, check.by]);
  return JSON.stringify([
    decision,
    reason,
    by,
    work,
    observed?.state,
    content?.digest,
    content?.complete,
    content?.kept,
    criteria,
    made,
    gaps,
  ]);
}
