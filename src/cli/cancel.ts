/** `throughline cancel`: asks the agent to stop. */
import { toJson } from "@bufbuild/protobuf";
import type { Command } from "commander";
import { TaskSchema, TaskState } from "../client/index.ts";
import { isTerminal, stateOf } from "../core/task.ts";
import { type AgentCall, agentCommand, calling } from "./agent-command.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { write, writeJson } from "./output.ts";
import { statusText } from "./texts.ts";

/** The command. */
export function cancelCommand(): Command {
  const command = agentCommand("cancel")
    .description("Ask the agent to stop working on a task.")
    .argument("<task>", "the task's id")
    .addHelpText(
      "after",
      "\nExit code 0 where the task is canceled, 4 where it is still running, 1 where it has ended otherwise meanwhile.",
    );
  return calling<object>(command, cancel);
}

async function cancel({ args: [id = ""], connect, flags, signal }: AgentCall<object>): Promise<ExitCode> {
  const client = await connect();
  const task = await client.cancelTask(id, { signal });
  await (flags.json ? writeJson(toJson(TaskSchema, task)) : write(`${statusText(task)}\n`));
  const state = stateOf(task);
  if (state === TaskState.CANCELED) return EXIT.done;
  return isTerminal(state) ? EXIT.ended : EXIT.running;
}
