/** `throughline hold`: records that an artifact is not accepted as it is. */
import type { Command } from "commander";
import { acceptanceCommand, deciding } from "./acceptance-command.ts";

interface Flags {
  readonly reason: string;
  readonly gap?: string;
}

const EXAMPLES = `
Examples:
  throughline hold ID --reason 'the figures of May are not in' --gap 'figures of May' --owner grace
  throughline hold ID --reason 'nobody has heard of it since'      an agent that cannot be asked is a gap by itself

It holds until the next throughline accept; what was accepted or rejected is open again.`;

/** The command. */
export function holdCommand(): Command {
  const command = acceptanceCommand("hold")
    .description("Record that what a task has brought is not accepted as it is, and why.")
    .requiredOption("--reason <text>", "why")
    .option("--gap <text>", "what could not be observed; --owner says who is to see to it")
    .addHelpText("after", EXAMPLES);
  return deciding<Flags>(command, ({ book, taskId, options, flags: { reason, gap } }) =>
    book.hold(taskId, { ...options, reason, ...(gap !== undefined && { gap }) }),
  );
}
