/** `throughline reject`: records that an artifact is no delivery. */
import type { Command } from "commander";
import { acceptanceCommand, deciding } from "./acceptance-command.ts";

interface Flags {
  readonly reason: string;
}

const EXAMPLES = `
Examples:
  throughline reject ID --reason 'the figures are invented'

It stays rejected until throughline hold opens it again. Where it had been accepted, what it replaced stands again.`;

/** The command. */
export function rejectCommand(): Command {
  const command = acceptanceCommand("reject")
    .description("Record that what a task has brought is no delivery, and why.")
    .requiredOption("--reason <text>", "why")
    .addHelpText("after", EXAMPLES);
  return deciding<Flags>(command, ({ book, taskId, options, flags: { reason } }) => book.reject(taskId, { ...options, reason }));
}
