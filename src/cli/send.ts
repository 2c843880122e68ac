/** `throughline send`: sends a message and shows what comes of it. */
import { toJson } from "@bufbuild/protobuf";
import { type Command, Option } from "commander";
import { MessageSchema, type Task, TaskSchema, type Wait } from "../client/index.ts";
import { stateOf } from "../core/task.ts";
import { type AgentCall, agentCommand, calling, positive } from "./agent-command.ts";
import { EXIT, exitHelp, type ExitCode } from "./exit-codes.ts";
import { UsageError } from "./failures.ts";
import { messageParts } from "./message-parts.ts";
import { say, write, writeJsonLine } from "./output.ts";
import { columns, messageText, stateText } from "./texts.ts";
import { watchRun } from "./watch-run.ts";

interface Flags {
  readonly file?: readonly string[];
  readonly task?: string;
  readonly context?: string;
  readonly refine?: string;
  readonly messageId?: string;
  readonly wait: Wait;
  readonly pollInterval?: number;
  readonly detach?: true;
  readonly push?: string;
  readonly pushToken?: string;
}

const EXAMPLES = `
Examples:
  throughline send 'run the tests of payments-api'     the artifact to stdout as it grows, the rest to stderr
  throughline send --file report.pdf 'Summarise this'
  git diff | throughline send -                        standard input
  throughline send --task ID 'the second one'          answers what a task asks
  throughline send --refine ID 'add a conclusion'
  throughline send --push https://example.com/hook --detach hello
  throughline send --detach 'a long one'               prints the ids; throughline follow ID comes back
  throughline send --json hello | jq -c .event         one line per event, the last one has the task

Ctrl-C leaves the task after two seconds and says how to come back; a second one in that time cancels it.`;

/** The command. */
export function sendCommand(): Command {
  const command = agentCommand("send")
    .description("Send a message, and show the task until it is at rest.")
    .argument("[text...]", "what to say; - or nothing reads standard input")
    .option("--file <path>", "a file to send along; repeatable", (path, all: readonly string[] | undefined) => [...(all ?? []), path])
    .option("--task <id>", "go on with this task: answer what it asks")
    .option("--context <id>", "begin a task in this context")
    .option("--refine <id>", "begin a task that refines this one, in its context: it may replace what was accepted of it")
    .option("--message-id <id>", "the message's id (default: a new one); the same again is the same message")
    .addOption(
      new Option(
        "--wait <way>",
        "stream; poll, by looking every so often; block, by one long call; auto: stream where the agent can, else poll",
      )
        .choices(["auto", "stream", "poll", "block"])
        .default("auto"),
    )
    .option("--poll-interval <seconds>", "time between two looks when polling (default: 10)", positive)
    .option("--detach", "print the ids of the task, and leave it to run")
    .option("--push <url>", "a webhook that the agent is to call with every event of the task")
    .option("--push-token <token>", "what the agent is to send along to it, so that you know it")
    .addHelpText("after", `${EXAMPLES}\n${exitHelp()}`);
  return calling<Flags>(command, send);
}

async function send(call: AgentCall<Flags>): Promise<ExitCode> {
  const { flags } = call;
  const messageId = flags.messageId ?? crypto.randomUUID();
  const parts = await messageParts({ words: call.args, files: flags.file ?? [] });
  const refined = flags.refine === undefined ? undefined : await refinedTask(call, flags.refine);
  const message = { messageId, parts, ...(refined && { referenceTaskIds: [refined.id] }) };
  const contextId = flags.context ?? refined?.contextId;
  if (flags.pushToken !== undefined && flags.push === undefined) throw new UsageError("--push-token: goes with --push");
  const webhook = flags.push !== undefined && { taskPushNotificationConfig: { url: flags.push, token: flags.pushToken ?? "" } };
  const target = {
    ...(webhook && { configuration: webhook }),
    ...(flags.task !== undefined && { taskId: flags.task }),
    ...(contextId !== undefined && { contextId }),
  };
  if (flags.detach) return detached(call, { message, target });
  return watchRun({
    call,
    messageId,
    options: { ...(flags.pollInterval !== undefined && { pollIntervalMs: flags.pollInterval * 1000 }) },
    taskId: flags.task,
    begin: (client, signal) => client.send(message, { ...target, wait: flags.wait, signal }),
    blocks: flags.wait === "block",
  });
}

/** The task that is to be refined: the new one begins in its context (CL-24). */
async function refinedTask({ connect, flags, signal }: AgentCall<Flags>, id: string): Promise<Task> {
  if (flags.task !== undefined) throw new UsageError("--refine begins a task, --task goes on with one: give one of them");
  const task = await (await connect()).getTask(id, { historyLength: 0, signal });
  if (flags.context !== undefined && flags.context !== task.contextId)
    throw new UsageError(`--context: a refinement is in the context of what it refines, ${task.contextId}`);
  return task;
}

type Sent = {
  readonly message: { messageId: string; parts: Awaited<ReturnType<typeof messageParts>>; referenceTaskIds?: string[] };
  readonly target: object;
};

/** Sends so that it returns immediately, and does not look again. */
async function detached({ connect, flags, signal, again }: AgentCall<Flags>, { message, target }: Sent): Promise<ExitCode> {
  const client = await connect();
  await using run = client.send(message, { ...target, wait: "poll", signal });
  for await (const { event, task } of run) {
    if (task === undefined) {
      if (event.case !== "message") continue;
      if (flags.json) await writeJsonLine({ message: toJson(MessageSchema, event.value) });
      else await write(`${messageText(event.value)}\n`);
      return EXIT.done;
    }
    if (flags.json) await writeJsonLine({ task: toJson(TaskSchema, task) });
    else {
      const rows = [
        ["task", task.id],
        ["context", task.contextId],
        ["state", stateText(stateOf(task))],
      ];
      await write(columns(rows));
    }
    say(`come back: ${again("follow", task.id)}`);
    return EXIT.done;
  }
  return EXIT.failed;
}
