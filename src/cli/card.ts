/** `throughline card`: what an agent is, and what it can. */
import { toJson } from "@bufbuild/protobuf";
import type { Command } from "commander";
import { type AgentCard, AgentCardSchema } from "../client/index.ts";
import { type AgentCall, agentCommand, calling } from "./agent-command.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { write, writeJson } from "./output.ts";
import { columns } from "./texts.ts";

interface Flags {
  readonly extended?: true;
}

const EXAMPLES = `
Examples:
  throughline card --agent https://agent.example
  throughline card --json | jq .skills`;

/** The command. */
export function cardCommand(): Command {
  const command = agentCommand("card")
    .description("Show what an agent is and what it can.")
    .option("--extended", "the card for callers that the agent knows; needs --token or the like")
    .addHelpText("after", EXAMPLES);
  return calling<Flags>(command, show);
}

async function show({ connect, flags, signal }: AgentCall<Flags>): Promise<ExitCode> {
  const client = await connect();
  const found = await (flags.extended ? client.extendedCard({ signal }) : client.card({ signal }));
  await (flags.json ? writeJson(toJson(AgentCardSchema, found)) : write(cardText(found)));
  return EXIT.done;
}

function cardText(card: AgentCard): string {
  const { name, version, description, provider, skills, defaultInputModes, defaultOutputModes } = card;
  const { supportedInterfaces, capabilities, securitySchemes } = card;
  const can = [
    capabilities?.streaming && "streaming",
    capabilities?.pushNotifications && "webhooks",
    capabilities?.extendedAgentCard && "extended card",
  ].filter((word) => typeof word === "string");
  const heading = [`${name} ${version}`.trim(), description, provider?.organization && `by ${provider.organization}`];
  const skillRows = skills.map((skill) => ["skill", [skill.name, skill.description].filter((text) => text !== "").join(": ")]);
  const examples = skills.flatMap((skill) => skill.examples.map((example) => ["example", example]));
  const modes = [
    ["takes", defaultInputModes.join(", ")],
    ["gives", defaultOutputModes.join(", ")],
  ].filter(([, text]) => text !== "");
  const interfaces = supportedInterfaces.map(({ protocolBinding, protocolVersion, url, tenant }) => [
    "interface",
    `${protocolBinding} ${protocolVersion} ${url}${tenant && ` (tenant ${tenant})`}`,
  ]);
  const extensions = (capabilities?.extensions ?? []).map(({ uri, required }) => ["extension", `${uri}${required ? " (required)" : ""}`]);
  const security = Object.keys(securitySchemes).map((scheme) => ["security", scheme]);
  const rows = columns([
    ...skillRows,
    ...examples,
    ...modes,
    ...interfaces,
    ["can", can.join(", ") || "answer calls"],
    ...extensions,
    ...security,
  ]);
  return `${heading.filter((line) => typeof line === "string" && line !== "").join("\n")}\n\n${rows}`;
}
