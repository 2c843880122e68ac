/** `throughline push`: the webhooks of a task. */
import { type JsonObject, toJson } from "@bufbuild/protobuf";
import { Command } from "commander";
import { type PushDelivery, type TaskPushNotificationConfig, TaskPushNotificationConfigSchema } from "../client/index.ts";
import { agentCommand, calling } from "./agent-command.ts";
import { EXIT } from "./exit-codes.ts";
import { UsageError } from "./failures.ts";
import { say, write, writeJson } from "./output.ts";
import { columns } from "./texts.ts";

interface CreateFlags {
  readonly id?: string;
  readonly pushToken?: string;
  readonly auth?: string;
}

const EXAMPLES = `
Examples:
  throughline push create TASK https://example.com/hook --push-token s3cret
  throughline push create TASK https://example.com/hook --auth 'Bearer s3cret'
  throughline push list TASK`;

/** The command and those below it. */
export function pushCommand(): Command {
  return new Command("push")
    .description("Webhooks that the agent calls when a task changes.")
    .addCommand(createCommand())
    .addCommand(getCommand())
    .addCommand(listCommand())
    .addCommand(deleteCommand())
    .addHelpText("after", EXAMPLES);
}

function createCommand(): Command {
  const command = agentCommand("create")
    .description("Register a webhook.")
    .argument("<task>", "the task's id")
    .argument("<url>", "what the agent is to call")
    .option("--id <id>", "the webhook's id (default: the agent gives one); one with the same id is replaced")
    .option("--push-token <token>", "what the agent is to send along, so that you know it")
    .option("--auth <credentials>", "what the agent is to authenticate with: 'SCHEME CREDENTIALS'");
  return calling<CreateFlags>(command, async ({ args: [taskId = "", url = ""], connect, flags, signal }) => {
    const { id = "", pushToken = "", auth } = flags;
    const [, scheme = "", credentials = ""] = /^(\S+) +(\S.*)$/.exec(auth ?? "") ?? [];
    if (auth !== undefined && scheme === "") throw new UsageError("--auth: it must be 'SCHEME CREDENTIALS'");
    const client = await connect();
    const authentication = auth === undefined ? {} : { authentication: { scheme, credentials } };
    const config = await client.createPushConfig({ taskId, url, id, token: pushToken, ...authentication }, { signal });
    await show([config], config, flags.json);
    return EXIT.done;
  });
}

function getCommand(): Command {
  const command = agentCommand("get")
    .description("Show a webhook, and how far it is where the agent tells.")
    .argument("<task>", "the task's id")
    .argument("<id>", "the webhook's id");
  return calling<object>(command, async ({ args: [taskId = "", id = ""], connect, flags, signal }) => {
    const client = await connect();
    const config = await client.getPushConfig(taskId, id, { signal });
    const delivery = await client.pushDelivery(taskId, id, { signal });
    if (flags.json)
      await writeJson({
        ...(toJson(TaskPushNotificationConfigSchema, config) as JsonObject),
        ...(delivery && { delivery: { ...delivery } }),
      });
    else
      await write(
        columns([
          ["ID", "URL"],
          [config.id, config.url],
        ]) + (delivery === undefined ? "" : deliveryText(delivery)),
      );
    return EXIT.done;
  });
}

function listCommand(): Command {
  const command = agentCommand("list").description("List the webhooks of a task.").argument("<task>", "the task's id");
  return calling<object>(command, async ({ args: [taskId = ""], connect, flags, signal }) => {
    const configs = await (await connect()).listPushConfigs(taskId, { signal });
    await show(configs, configs, flags.json);
    return EXIT.done;
  });
}

function deleteCommand(): Command {
  const command = agentCommand("delete")
    .description("Remove a webhook.")
    .argument("<task>", "the task's id")
    .argument("<id>", "the webhook's id");
  return calling<object>(command, async ({ args: [taskId = "", id = ""], connect, flags, signal }) => {
    await (await connect()).deletePushConfig(taskId, id, { signal });
    if (flags.json) await writeJson({});
    else say("removed");
    return EXIT.done;
  });
}

/** One line. */
function deliveryText({ state, acknowledged, failures, retryInSeconds, cause }: PushDelivery): string {
  const failed = failures === 0 ? [] : [`${failures} ${failures === 1 ? "failure" : "failures"} in a row`];
  const again = retryInSeconds === 0 ? [] : [`again in ${retryInSeconds} s`];
  return `\n${[`${state}: acknowledged up to ${acknowledged}`, ...failed, ...(cause === "" ? [] : [cause]), ...again].join("; ")}\n`;
}

/** People get the ids and addresses and none of the secrets. */
async function show(
  configs: readonly TaskPushNotificationConfig[],
  value: TaskPushNotificationConfig | readonly TaskPushNotificationConfig[],
  json: true | undefined,
): Promise<void> {
  const all = configs.map((config) => toJson(TaskPushNotificationConfigSchema, config));
  if (json) await writeJson(Array.isArray(value) ? all : (all[0] ?? null));
  else if (configs.length === 0) say("no webhooks");
  else await write(columns([["ID", "URL"], ...configs.map(({ id, url }) => [id, url])]));
}
