/** What went wrong, in one line: the reason, the bad fields, what to try. */
import type { JsonObject } from "@bufbuild/protobuf";
import { A2AError } from "../client/index.ts";
import { commandLine } from "./command-line.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { shellWord } from "./shell-word.ts";
import { isBrokenPipe, say, writeJsonLine } from "./output.ts";

/** The command line is wrong in a way that only the command knows. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The time that `--timeout` gives is over. */
export function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === "TimeoutError";
}

/** What to try, by reason. */
const ADVICE: Readonly<Record<string, (self: string) => string>> = {
  TASK_NOT_FOUND: (self) => `\`${self} list\` shows your tasks`,
  TASK_NOT_CANCELABLE: (self) => `\`${self} get\` shows how`,
  UNAVAILABLE: () => "is it up, and is this the right one? --agent or THROUGHLINE_AGENT says where it is",
  UNAUTHENTICATED: () => "give a token: --token or THROUGHLINE_TOKEN",
  PERMISSION_DENIED: () => "another token may be allowed to: --token or THROUGHLINE_TOKEN",
  PUSH_NOTIFICATION_NOT_SUPPORTED: (self) => `\`${self} follow\` waits for a task`,
  CONTENT_TYPE_NOT_SUPPORTED: (self) => `\`${self} card\` shows what the agent takes`,
  UNSUPPORTED_OPERATION: (self) => `\`${self} card\` shows what the agent can`,
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: () => "leave out --extended",
};

/** Says what was thrown and what to try (`advice`; default: by its reason), with `--json` on stdout as well; answers the exit code. */
export async function reportFailure(
  thrown: unknown,
  { json, advice }: { readonly json: boolean; readonly advice?: string | undefined },
): Promise<ExitCode> {
  if (isBrokenPipe(thrown)) return EXIT.done;
  say(`throughline: ${failureText(thrown, advice).replace(/\s*\n\s*/g, " ")}`);
  if (thrown instanceof UsageError) return EXIT.usage;
  if (json) await writeJsonLine({ error: failureJson(thrown) }).catch(() => undefined);
  return EXIT.failed;
}

/** One line. `better`: what to try, where more is known than the reason. */
export function failureText(error: unknown, better?: string): string {
  if (isTimeout(error)) return "no answer in the time that --timeout gives";
  if (!(error instanceof A2AError)) return error instanceof Error ? error.message : String(error);
  const { reason, violations, retryAfterMs, metadata } = error;
  const named = reason === "UNKNOWN" ? error.message : `${reason}: ${error.message}`;
  const told = violations.filter(({ field, description }) => !(error.message.includes(field) && error.message.includes(description)));
  const fields = told.map(({ field, description }) => `${field}: ${description}`).join("; ");
  const advice = retryAfterMs === undefined ? (better ?? adviceOf(reason, metadata)) : `try again in ${Math.ceil(retryAfterMs / 1000)} s`;
  return `${named}${fields && ` (${fields})`}${advice === undefined ? "" : `; ${advice}`}`;
}

function adviceOf(reason: string, { taskId, configId }: A2AError["metadata"]): string | undefined {
  if (reason === "TASK_NOT_FOUND" && taskId !== undefined && configId !== undefined)
    return `\`${commandLine()} push list ${shellWord(taskId)}\` shows its webhooks`;
  if (reason === "TASK_NOT_CANCELABLE" && taskId !== undefined) return `\`${commandLine()} get ${shellWord(taskId)}\` shows how`;
  return ADVICE[reason]?.(commandLine());
}

function failureJson(error: unknown): JsonObject {
  const { reason, message, metadata, violations } = A2AError.from(error);
  const fields = violations.map(({ field, description }) => ({ field, description }));
  return { reason: isTimeout(error) ? "DEADLINE_EXCEEDED" : reason, message, metadata: { ...metadata }, violations: fields };
}
