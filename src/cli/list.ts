/** `throughline list`: your tasks. */
import { type JsonObject, toJson } from "@bufbuild/protobuf";
import { type Command, Option } from "commander";
import { ListTasksResponseSchema } from "../client/index.ts";
import { stateOf } from "../core/task.ts";
import { type AgentCall, agentCommand, calling, whole } from "./agent-command.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { say, write, writeJson } from "./output.ts";
import { columns, STATES, stateText, timeText } from "./texts.ts";

interface Flags {
  readonly context?: string;
  readonly state?: string;
  readonly limit?: number;
  readonly pageToken?: string;
}

const EXAMPLES = `
Examples:
  throughline list --state working
  throughline list --context reports --limit 5
  throughline list --json | jq -r '.tasks[].id'`;

/** The command. */
export function listCommand(): Command {
  const command = agentCommand("list")
    .description("List your tasks, those that changed last first.")
    .option("--context <id>", "only those of this context")
    .addOption(new Option("--state <state>", "only those in this state").choices([...STATES.keys()]))
    .option("--limit <count>", "how many at once (default: as the agent likes)", whole)
    .option("--page-token <token>", "go on where another list ended")
    .addHelpText("after", EXAMPLES);
  return calling<Flags>(command, list);
}

async function list({ connect, flags, signal, again }: AgentCall<Flags>): Promise<ExitCode> {
  const { context = "", state = "", limit, pageToken = "" } = flags;
  const client = await connect();
  const filter = { contextId: context, status: STATES.get(state) ?? 0, pageToken, ...(limit !== undefined && { pageSize: limit }) };
  const page = await client.listTasks(filter, { signal });
  if (flags.json) {
    // As the server writes it: what is REQUIRED is there, also where it is empty (C-18).
    const { nextPageToken, pageSize, totalSize } = page;
    const { tasks = [] } = toJson(ListTasksResponseSchema, page) as JsonObject;
    await writeJson({ tasks, nextPageToken, pageSize, totalSize });
    return EXIT.done;
  }
  const rows = page.tasks.map((task) => [task.id, stateText(stateOf(task)), timeText(task.status?.timestamp), task.contextId]);
  if (rows.length === 0) say("no tasks");
  else await write(columns([["TASK", "STATE", "SINCE", "CONTEXT"], ...rows]));
  if (page.nextPageToken !== "") {
    const narrowed = [
      ...(context === "" ? [] : ["--context", context]),
      ...(state === "" ? [] : ["--state", state]),
      ...(limit === undefined ? [] : ["--limit", String(limit)]),
    ];
    say(`${rows.length} of ${page.totalSize}; more: ${again("list", ...narrowed, "--page-token", page.nextPageToken)}`);
  }
  return EXIT.done;
}
