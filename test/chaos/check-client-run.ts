/** Checks what a run of `throughline/client` showed its user against the log of its task. */
import { equals } from "@bufbuild/protobuf";
import { Role, type Task, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Entry } from "../../src/core/log-entry.ts";
import { isAtRest, stateOf } from "../../src/core/task.ts";
import { checkFollower } from "./check-follower.ts";
import type { ClientRunEnd } from "./client-run.ts";
import type { Finding, FindingKind } from "./finding.ts";
import { Folds } from "./folds.ts";

/**
 * Every event up to where the run ended, once and in order; tasks that it read in between, each as the log made it at some place and none
 * older than what it knew; and as its answer the exact task, at rest.
 */
export function checkClientRun(run: ClientRunEnd, entries: readonly Entry[]): Finding[] {
  const { taskId, what, frames, reads, rest, incomplete, failure } = run;
  const found: Finding[] = [];
  const say = (kind: FindingKind, text: string): void =>
    void found.push({ kind, taskId, what: `${what} over ${run.visits[0]?.binding}: ${text}` });
  if (failure !== undefined) say("lost", `it ended with ${failure}`);
  else if (rest === undefined) say("forgotten", "it never ended");
  if (incomplete.length > 0) say("lost", `parts of ${incomplete.join(", ")} may be missing, it says`);

  const seen = frames.at(-1)?.position.offset ?? 0;
  for (const one of checkFollower({ ...run, state: "ended" }, entries.slice(0, seen), { whole: true }).found) say(one.kind, one.what);
  const folds = new Folds(entries);
  let at = 0;
  for (const { task, after } of reads) {
    at = Math.max(at, frames[after - 1]?.position.offset ?? 1);
    const place = offsetOf(task, folds, at, entries.length, (one) => one);
    if (place === undefined) say("broken", `what it read after ${at} is the task at no place after that`);
    at = place ?? at;
  }
  if (rest === undefined) return found;
  if (!isAtRest(stateOf(rest))) say("broken", "it ended with a task that is not at rest");
  // A stream does not carry what other callers have said meanwhile.
  const end = Math.max(at, seen);
  if (offsetOf(rest, folds, end, end, agents) === undefined) say("broken", `its task is not the fold of the log at ${end}`);
  return found;
}

/** The first place between two at which the log makes this task. */
function offsetOf(task: Task, folds: Folds, from: number, to: number, view: (task: Task) => Task): number | undefined {
  for (let offset = from; offset <= to; offset += 1) if (equals(TaskSchema, view(task), view(folds.at(offset)))) return offset;
  return undefined;
}

function agents(task: Task): Task {
  return { ...task, history: task.history.filter(({ role }) => role === Role.AGENT) };
}
