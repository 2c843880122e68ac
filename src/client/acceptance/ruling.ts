/** The rules of acceptance: what the evidence comes to, given what was decided before (requirements 5.6, CL-23 to CL-26). */
import type { AcceptanceRecord, Decision, RecordDraft } from "./record.ts";
import { currentOf, latestOf, refines } from "./standing.ts";

/** A decision that a new record is to have. */
interface Ruling {
  readonly decision: Decision;
  readonly reason: string;
  readonly version?: number;
  readonly predecessor?: string;
}

/** `settled`: it was decided before, and the same notice, or a late one, changes nothing. */
export type Outcome = { readonly settled: AcceptanceRecord } | Ruling;

/** What an acceptance is ruled by. */
export interface Claim {
  readonly draft: RecordDraft;
  /** Id of the record, or of the task, that is to be replaced, where the caller says so. */
  readonly replaces: string | undefined;
}

const NO_DELIVERY: ReadonlySet<string> = new Set(["TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"]);

/** What is decided without a look at the content; undefined where there must be one. */
export function rulingWithoutContent(records: readonly AcceptanceRecord[], { draft, replaces }: Claim): Outcome | undefined {
  const last = latestOf(records, draft);
  if (last?.decision === "accepted" || last?.decision === "rejected") return { settled: last };
  const { observed, gaps } = draft;
  if (observed === undefined) return { decision: "held", reason: `it was not observed: ${gaps.map(({ what }) => what).join("; ")}` };
  if (NO_DELIVERY.has(observed.state))
    return { decision: "rejected", reason: `the task ended ${word(observed.state)}: that is no delivery` };
  if (!isComplete(observed.state)) return undefined;
  const obstacle = obstacleOf(records, { draft, replaces });
  return obstacle === undefined ? undefined : { decision: "held", reason: obstacle };
}

/** The whole ruling: accepted where the task is COMPLETED, the content complete, every criterion met, and nothing newer stands. */
export function rulingOf(records: readonly AcceptanceRecord[], claim: Claim): Outcome {
  const early = rulingWithoutContent(records, claim);
  if (early !== undefined) return early;
  const { draft } = claim;
  const state = draft.observed?.state ?? "";
  if (!isComplete(state)) return { decision: "provisional", reason: `the task is ${word(state)}: what it has brought may still change` };
  if (draft.gaps.length > 0) return { decision: "held", reason: `it is not complete: ${draft.gaps.map(({ what }) => what).join("; ")}` };
  const failed = draft.criteria.filter((criterion) => draft.checks.some((check) => check.criterion === criterion && !check.passed));
  const unchecked = draft.criteria.filter((criterion) => !draft.checks.some((check) => check.criterion === criterion));
  if (failed.length > 0) return { decision: "held", reason: `not met: ${failed.join("; ")}` };
  if (unchecked.length > 0) return { decision: "held", reason: `not checked: ${unchecked.join("; ")}` };
  const versions = records.filter(({ work }) => work === draft.work).map(({ version = 0 }) => version);
  const current = currentOf(records, draft.work);
  return {
    decision: "accepted",
    reason: "it is complete, and every criterion is met",
    version: Math.max(0, ...versions) + 1,
    ...(current !== undefined && { predecessor: current.id }),
  };
}

/** Why the accepted record of this work is not to be replaced by this task; undefined where it may be, or where there is none. */
function obstacleOf(records: readonly AcceptanceRecord[], { draft, replaces }: Claim): string | undefined {
  const current = currentOf(records, draft.work);
  if (replaces !== undefined) {
    if (current !== undefined && (replaces === current.id || replaces === current.taskId)) return undefined;
    return `it is to replace ${replaces}, and ${current === undefined ? `nothing of ${draft.work} is accepted` : standing(current)}`;
  }
  if (current === undefined || refines(records, draft.referenceTaskIds, current.taskId)) return undefined;
  return `${standing(current)}, which this task does not refine`;
}

function standing({ work, version, taskId }: AcceptanceRecord): string {
  return `${work} v${version} of task ${taskId} stands`;
}

function isComplete(state: string): boolean {
  return state === "TASK_STATE_COMPLETED";
}

function word(state: string): string {
  return state.replace(/^TASK_STATE_/, "").replaceAll("_", " ");
}
