/** `throughline get`: a task as it is now. */
import { toJson } from "@bufbuild/protobuf";
import { type Command, InvalidArgumentError } from "commander";
import { Role, type Task, TaskSchema } from "../client/index.ts";
import { type AgentCall, agentCommand, calling } from "./agent-command.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { write, writeJson } from "./output.ts";
import { columns, messageText, partText, statusText, timeText } from "./texts.ts";

interface Flags {
  readonly history: number;
}

const EXAMPLES = `
Examples:
  throughline get ID                      state and artifacts; throughline follow ID prints the artifacts themselves
  throughline get ID --history 5          the last five messages too
  throughline get ID --json | jq -r .status.state`;

/** The command. */
export function getCommand(): Command {
  const command = agentCommand("get")
    .description("Show a task as it is now.")
    .argument("<task>", "the task's id")
    .option("--history <count>", "how many of its messages to show", count, 0)
    .addHelpText("after", EXAMPLES);
  return calling<Flags>(command, get);
}

async function get({ args: [id = ""], connect, flags, signal }: AgentCall<Flags>): Promise<ExitCode> {
  const client = await connect();
  const task = await client.getTask(id, { historyLength: flags.history, signal });
  await (flags.json ? writeJson(toJson(TaskSchema, task)) : write(taskText(task)));
  return EXIT.done;
}

/** A task for people. */
function taskText(task: Task): string {
  const artifacts = task.artifacts.map(({ artifactId, name, parts }) => [
    "artifact",
    `${name || artifactId}: ${parts.length > 3 ? `${parts.length} parts` : parts.map(partText).join("; ")}`,
  ]);
  const messages = task.history.map((message) => [message.role === Role.AGENT ? "agent" : "you", messageText(message)]);
  const rows = [
    ["task", task.id],
    ["context", task.contextId],
    ["state", statusText(task)],
    ["since", timeText(task.status?.timestamp)],
  ];
  return columns([...rows, ...artifacts, ...messages].filter(([, text]) => text !== ""));
}

function count(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("It must be a whole number.");
  return Number(text);
}
