/** `throughline follow`: shows a task that was sent before. */
import type { Command } from "commander";
import { agentCommand, calling } from "./agent-command.ts";
import { exitHelp } from "./exit-codes.ts";
import { watchRun } from "./watch-run.ts";

const EXAMPLES = `
Examples:
  throughline follow ID            the artifacts so far, then what comes, until the task is at rest
  throughline follow ID > log.txt  the artifact alone; also of a task that has ended

Ctrl-C leaves the task after two seconds; a second one in that time cancels it.`;

/** The command. */
export function followCommand(): Command {
  const command = agentCommand("follow")
    .description("Come back to a task: show what it has brought, and what it brings until it is at rest.")
    .argument("<task>", "the task's id")
    .addHelpText("after", `${EXAMPLES}\n${exitHelp()}`);
  return calling<object>(command, (call) => {
    const [taskId = ""] = call.args;
    return watchRun({ call, taskId, begin: (client, signal) => client.follow(taskId, { signal }) });
  });
}
