/** `throughline accept`: judges an artifact, and records what it comes to. */
import { type Command, InvalidArgumentError } from "commander";
import { type Check, commandCheck, judgedBy } from "../client/index.ts";
import { acceptanceCommand, deciding } from "./acceptance-command.ts";
import { positive } from "./agent-command.ts";

interface Flags {
  readonly by: string;
  readonly replaces?: string;
  readonly checkTimeout?: number;
}

const HELP = `
Examples:
  throughline accept ID --check 'grep -q "## Conclusion"'          a command that reads the artifact; 0 means passed
  throughline accept ID --criterion 'no line is too long' --check '! grep -qE ".{121}"'
  throughline accept ID --judged 'it answers the question'         you have read it, and it does
  throughline accept ID --judged fine --json | jq -r .decision

Accepted is what is completed, complete with the files it refers to, and meets every criterion; everything else is held, and the record says
why. A task that failed is no delivery: it is rejected. A refinement (throughline send --refine ID) replaces what it refines when it is accepted,
and what was accepted stands until then. What is accepted or rejected stays so: throughline hold opens it again.

Exit codes:
  0  accepted
  1  held or rejected, as the first line says
  2  the command line is wrong
  3  provisional: the task waits for you
  4  provisional: the task is still running; or it was left with Ctrl-C, and nothing was recorded
  5  the call failed, and nothing was recorded`;

/** The command. */
export function acceptCommand(): Command {
  const criteria: string[] = [];
  const commands: { readonly criterion: string | undefined; readonly command: string }[] = [];
  const judged: string[] = [];
  const command = acceptanceCommand("accept")
    .description("Judge what a task has brought, and record the decision.")
    .option("--check <command>", "a shell command that reads the artifact on stdin, and passes with exit code 0; repeatable", (text) => {
      commands.push({ criterion: criteria.at(-1), command: worded(text) });
    })
    .option("--criterion <text>", "what the checks after it are for (default: the check itself); repeatable", (text) => {
      criteria.push(worded(text));
    })
    .option("--judged <criterion>", "what you have judged yourself, and found met; repeatable", (text) => {
      judged.push(worded(text));
    })
    .option("--check-timeout <seconds>", "how long each check may take (default: 60)", positive)
    .option("--replaces <id>", "the accepted record, or its task, that this one replaces, where the task does not say what it refines")
    .addHelpText("after", HELP);
  return deciding<Flags>(command, ({ book, taskId, options, flags }) => {
    const timeout = flags.checkTimeout === undefined ? {} : { timeoutMs: flags.checkTimeout * 1000 };
    const checks: Check[] = [
      ...commands.map(({ criterion, command: text }) => commandCheck(text, { ...timeout, ...(criterion !== undefined && { criterion }) })),
      ...judged.map((criterion) => judgedBy(flags.by, criterion)),
    ];
    return book.accept(taskId, { ...options, checks, criteria, ...(flags.replaces !== undefined && { replaces: flags.replaces }) });
  });
}

function worded(text: string): string {
  if (text.trim() === "") throw new InvalidArgumentError("It must say something.");
  return text;
}
