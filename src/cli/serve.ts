/** `throughline serve <agent module>`: serves an agent until it is told to stop. */
import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Command, Option } from "commander";
import { pino } from "pino";
import type { Agent } from "../core/agent.ts";
import type { Log } from "../core/telemetry.ts";
import { OptionsError } from "../server/options.ts";
import { type RunningServer, serve } from "../server/serve.ts";
import { knownOptions, readOptions } from "./read-options.ts";

/** The command. */
export function serveCommand(): Command {
  const command = new Command("serve")
    .description("Serve an agent: a module whose default export is the agent.")
    .argument("<agent>", "path of the agent's module")
    .option("--config <file>", "options as a JSON file")
    .addOption(new Option("--log <level>", "log level").choices(["debug", "info", "warn", "error", "silent"]).default("info"));
  for (const { flag, variable, description } of knownOptions()) command.option(`--${flag} <value>`, `${description} [${variable}]`);
  return command.action(async (path: string, flags: Record<string, string>) => {
    try {
      await run(path, flags);
    } catch (error) {
      if (!(error instanceof OptionsError)) throw error;
      process.stderr.write(`throughline: ${error.message.replaceAll("\n", "\nthroughline: ")}\n`);
      process.exitCode = 2;
    }
  });
}

async function run(path: string, flags: Record<string, string>): Promise<void> {
  const named = Object.fromEntries(
    knownOptions().flatMap(({ flag }) => (flags[camel(flag)] === undefined ? [] : [[flag, flags[camel(flag)] as string]])),
  );
  const options = await readOptions(named, process.env, flags["config"]);
  const agent = await loadAgent(path);
  const server = await serve({ ...options, agent, log: logger(flags["log"] ?? "info") });
  process.stdout.write(welcome(agent, server));
  stopOnSignals(server);
}

function camel(flag: string): string {
  return flag.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

async function loadAgent(path: string): Promise<Agent> {
  let module: { default?: Partial<Agent> };
  try {
    module = (await import(pathToFileURL(resolve(path)).href)) as typeof module;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new OptionsError(`<agent>: cannot load ${path}: ${why}`, { cause });
  }
  const agent = module.default;
  if (typeof agent?.run !== "function" || typeof agent.card !== "object")
    throw new OptionsError(`<agent>: the default export of ${path} is no agent: it needs card and run`);
  return agent as Agent;
}

function logger(level: string): Log {
  const log = pino(
    { level, redact: ["*.authorization", "*.token", "*.credentials"], serializers: { error: pino.stdSerializers.err } },
    pino.destination(2),
  );
  return {
    info: (facts, message) => log.info(facts, message),
    warn: (facts, message) => log.warn(facts, message),
    error: (facts, message) => log.error(facts, message),
  };
}

/** SIGTERM drains; SIGINT (a person, no load balancer) drains at once; a second signal skips the waiting. */
function stopOnSignals(server: RunningServer): void {
  const skip = new AbortController();
  const stop = (signal: NodeJS.Signals): void => {
    if (server.state === "draining") return skip.abort();
    server.drain({ skip: skip.signal, atOnce: signal === "SIGINT" }).then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on("SIGTERM", stop).on("SIGINT", stop);
}

/** Where everything is, and one line to try per binding. */
function welcome(agent: Agent, server: RunningServer): string {
  const { grpc, http, ops } = server.ports;
  const { host } = server.options;
  const base = `http://${host}:${http}`;
  const text = agent.card.skills?.[0]?.examples?.[0] ?? "hello";
  const message = (): string => JSON.stringify({ messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }] });
  const curl = `curl -N -H 'A2A-Version: 1.0' -H 'Content-Type: application/json'`;
  const rpc = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "SendStreamingMessage",
    params: { message: JSON.parse(message()) as unknown },
  });
  return `${agent.card.name ?? "agent"} is served

  gRPC        ${host}:${grpc}
  HTTP+JSON   ${base}
  JSON-RPC    ${base}/jsonrpc
  card        ${base}/.well-known/agent-card.json
  operations  http://${host}:${ops}/readyz

Try it, one line per binding:

  npm run -s grpc -- ${host}:${grpc} send '${text}'
  ${curl} ${base}/message:stream -d '{"message":${message()}}'
  ${curl} ${base}/jsonrpc -d '${rpc}'

`;
}
