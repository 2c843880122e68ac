/** Checks: what each criterion is judged by, and who judges. */
import { AcceptanceError } from "./acceptance-error.ts";
import type { ArtifactContent } from "./artifact-content.ts";
import type { CheckResult } from "./record.ts";

/** What a check comes to. */
export type Verdict = boolean | { readonly passed: boolean; /** What it has to say. Default nothing. */ readonly output?: string };

/** A check of complete content. */
export interface Check {
  /** The agreed criterion that it judges. */
  readonly criterion: string;
  /** Who or what checks. Default: who decides. */
  readonly by?: string;
  /** What throws has not passed. */
  judge(content: ArtifactContent, signal: AbortSignal): Verdict | Promise<Verdict>;
}

/** How much of what a check says is recorded: its end. */
const MAX_OUTPUT = 4096;

/** A criterion that somebody has judged, and found to be met. */
export function judgedBy(by: string, criterion: string): Check {
  return { criterion, by, judge: () => true };
}

/** Makes the checks, one after the other. Rejects with the signal's reason alone. */
export async function runChecks(
  checks: readonly Check[],
  content: ArtifactContent,
  { by, signal }: { readonly by: string; readonly signal: AbortSignal },
): Promise<readonly CheckResult[]> {
  const results: CheckResult[] = [];
  for (const check of checks) {
    const { passed, output = "" } = await verdictOf(check, content, signal);
    const kept = output.length > MAX_OUTPUT ? `…${output.slice(-MAX_OUTPUT)}` : output;
    results.push({ criterion: check.criterion, passed, by: check.by ?? by, at: new Date().toISOString(), output: kept.toWellFormed() });
  }
  return results;
}

/** The agreed criteria: those that are named, and those of the checks. Throws AcceptanceError where there is nothing to judge by. */
export function criteriaOf(named: readonly string[], checks: readonly Check[]): readonly string[] {
  const criteria = [...new Set([...named, ...checks.map(({ criterion }) => criterion)])];
  if (criteria.length === 0) throw new AcceptanceError("checks", "at least one is needed: what nobody has judged is not accepted");
  if (criteria.some((criterion) => criterion.trim() === ""))
    throw new AcceptanceError("criteria", "a criterion is a text that says something");
  return criteria;
}

async function verdictOf(
  check: Check,
  content: ArtifactContent,
  signal: AbortSignal,
): Promise<{ readonly passed: boolean; readonly output?: string }> {
  signal.throwIfAborted();
  try {
    const verdict = await check.judge(content, signal);
    signal.throwIfAborted();
    return typeof verdict === "boolean" ? { passed: verdict } : verdict;
  } catch (error) {
    signal.throwIfAborted();
    return { passed: false, output: `the check failed: ${error instanceof Error ? error.message : String(error)}` };
  }
}
