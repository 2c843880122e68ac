/** Acceptance records in words. */
import type { AcceptanceRecord } from "../client/index.ts";
import { columns } from "./texts.ts";

/** `accepted v2`. */
function decisionText({ decision, version }: AcceptanceRecord): string {
  return version === undefined ? decision : `${decision} v${version}`;
}

/** The whole record, in lines of two columns. */
export function recordText(record: AcceptanceRecord): string {
  const { agent, observed, content, predecessor } = record;
  const rows = [
    [decisionText(record), record.reason],
    ["work", record.work],
    ["artifact", record.artifactId],
    ["task", record.taskId],
    ["message", record.messageId ?? ""],
    ["context", record.contextId],
    ["refines", record.referenceTaskIds.join(", ")],
    ["content", content === undefined ? "" : contentText(content)],
    ...(content?.files ?? []).map(({ filename, url, digest, bytes }) => ["file", `${filename || url}: ${digest}, ${bytes} bytes`]),
    ...record.checks.map(checkRow),
    ...uncheckedOf(record).map((criterion) => ["unchecked", criterion]),
    ...record.gaps.map(({ what, owner }) => ["gap", `${what} (${owner})`]),
    ["observed", observed === undefined ? "" : `${observed.by}: ${observed.state}, ${observed.at}`],
    ["agent", agent === undefined ? "" : `${agent.name}, ${agent.binding} ${agent.protocolVersion} ${agent.url}`],
    ["replaces", predecessor ?? ""],
    ["by", `${record.by}, ${record.at}`],
    ["record", record.id],
  ];
  return columns(rows.filter(([, text]) => text !== "").map((row) => row.map(oneLine)));
}

/** A line for each. */
export function recordLines(records: readonly AcceptanceRecord[]): string {
  const rows = records.map((record) =>
    [record.at.replace(/\.\d+Z$/, "Z"), decisionText(record), record.work, record.taskId, record.id, record.reason].map(oneLine),
  );
  return columns([["AT", "DECISION", "WORK", "TASK", "RECORD", "REASON"], ...rows]);
}

/** What an agent names begins no line of its own. */
function oneLine(text: string): string {
  return text.replaceAll(/\s*[\n\r\v\f\u0085\u2028\u2029]\s*/g, " ");
}

function contentText({ digest, bytes, complete, kept }: NonNullable<AcceptanceRecord["content"]>): string {
  return `${digest}, ${bytes} bytes${complete ? "" : ", incomplete"}${kept ? ", kept" : ""}`;
}

/** What a check that has not passed had to say follows it. */
function checkRow({ criterion, passed, by, output }: AcceptanceRecord["checks"][number]): readonly string[] {
  const who = by === criterion ? "" : ` (${by})`;
  const said = passed || output.trim() === "" ? "" : `: ${output.trim().replaceAll(/\s*\n\s*/g, " | ")}`;
  return [passed ? "passed" : "failed", `${criterion}${who}${said}`];
}

function uncheckedOf({ criteria, checks, decision }: AcceptanceRecord): readonly string[] {
  if (decision !== "held" && decision !== "provisional") return [];
  return criteria.filter((criterion) => !checks.some((check) => check.criterion === criterion));
}
