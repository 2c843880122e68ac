/** `throughline serve <agent module>`, or `--upstream`: serves an agent until it is told to stop. */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { JsonObject } from "@bufbuild/protobuf";
import { Command, Option } from "commander";
import type { Agent } from "../core/agent.ts";
import { OptionsError, type ServerOptions } from "../server/options.ts";
import type { DrainOptions, RunningServer } from "../server/serve.ts";
import type { Telemetry } from "../server/telemetry/sdk.ts";
import { type KnownOption, knownOptions, readOptions } from "./read-options.ts";
import { commandLine } from "./command-line.ts";
import { quoted } from "./shell-word.ts";
import { strayVariables } from "./stray-variables.ts";
import { shownAddress, upstreamAsked, upstreamOptions } from "./upstream-flags.ts";
import { growYoungSpace } from "./young-space.ts";

const HELP = `
What has a name in brackets is also a variable of the environment, and a key in the file of --config; a flag wins over a variable, a
variable over the file. Lists are separated by commas, objects are JSON. In the file the words of a flag are one key, and those below a
heading are keys of that object: --http-port is {"httpPort":8080}, --redis-url is {"redis":{"url":"redis://127.0.0.1:6379"}}.
The documents that are named here are in the folder docs of the package.

Examples:
  throughline serve agent.ts
  throughline serve agent.ts --host 0.0.0.0 --public-http-url https://agent.example --public-grpc-url agent.example:443
  throughline serve agent.ts --tokens '{"s3cret":"alice"}'             callers need one of these tokens
  throughline serve agent.ts --auth-jwt '{"issuer":"https://login.example","audience":"agent"}'   or a token of this issuer
  throughline serve agent.ts --tls-cert server.pem --tls-key server.key
  throughline serve agent.ts --redis-url redis://127.0.0.1:6379        tasks live there; start as many replicas as you like
  throughline serve agent.ts --config options.json --log warn
  throughline serve --upstream https://agent.example                    another A2A agent, whose tasks get a log of ours
  throughline serve --upstream 127.0.0.1:9999 --redis-url redis://127.0.0.1:6379`;

/** The command. */
export function serveCommand(): Command {
  const command = new Command("serve")
    .description("Serve an agent: a module whose default export is the agent, or another A2A agent behind a log of its own (--upstream).")
    .argument("[agent]", "path of the agent's module")
    .addOption(new Option("--config <file>", "options as a JSON file").env("THROUGHLINE_CONFIG"))
    .addOption(
      new Option("--log <level>", "log level").choices(["debug", "info", "warn", "error", "silent"]).default("info").env("THROUGHLINE_LOG"),
    )
    .addHelpText("after", HELP);
  for (const one of upstreamOptions()) command.addOption(one);
  for (const known of knownOptions()) command.addOption(optionOf(known));
  return command.action(async (path: string | undefined, flags: Record<string, string>) => {
    try {
      await run(command, path, flags);
    } catch (error) {
      if (!(error instanceof OptionsError)) throw error;
      process.stderr.write(`throughline: ${error.message.replaceAll("\n", "\nthroughline: ")}\n`);
      process.exitCode = 2;
    }
  });
}

function optionOf({ path, flag, variable, description, choices, fallback }: KnownOption): Option {
  const told = fallback === undefined ? variable : `${variable}, default ${fallback}`;
  const option = new Option(`--${flag} <value>`, `${description} [${told}]`);
  if (path.length > 1) option.helpGroup(`${path[0]}:`);
  return choices === undefined ? option : option.choices(choices);
}

async function run(command: Command, path: string | undefined, flags: Record<string, string>): Promise<void> {
  using _ = leaveOnSignals();
  const named = Object.fromEntries(
    knownOptions().flatMap(({ flag }) => (flags[camel(flag)] === undefined ? [] : [[flag, flags[camel(flag)] as string]])),
  );
  const isFront = (command.opts<{ upstream?: string }>().upstream ?? "") !== "";
  const options = await readOptions(named, process.env, flags["config"] || undefined, isFront ? FRONT_DEFAULTS : {});
  const upstream = upstreamAsked(command, options.forwardHeaders);
  if (upstream === undefined && path === undefined)
    throw new OptionsError("name the agent to serve: the path of its module, or --upstream");
  if (upstream !== undefined && path !== undefined)
    throw new OptionsError(`<agent> and --upstream exclude each other: ${path} is served, or ${shownAddress(upstream.address)}`);
  // Those who only call an agent need not wait for all that serves one, nor does an agent of its own for all that a front needs.
  const { serve } = await import("../server/serve.ts");
  const { startTelemetry } = await import("../server/telemetry/sdk.ts");
  const { pinoLog } = await import("../server/telemetry/pino-log.ts");
  const log = pinoLog(flags["log"] ?? "info");
  const strays = strayVariables(process.env, command);
  if (strays.length > 0) log.warn({ variables: strays }, "these variables are no options and do nothing");
  // Before the agent is loaded: what it measures itself is told too.
  const telemetry = await startTelemetry({ replica: options.replica, log });
  await using failed = new AsyncDisposableStack();
  failed.defer(() => telemetry.shutdown());
  const front = upstream && (await (await import("./front.ts")).openFront(upstream, log));
  const agent = front ?? (await loadAgent(path ?? ""));
  // Where the server itself knows its callers, it tells them apart.
  const authenticate = front?.authenticate !== undefined && !knowsCallers(options) ? { authenticate: front.authenticate } : {};
  const server = await serve({ ...options, ...authenticate, agent, log, scrape: telemetry.scrape }).catch(namingFlags);
  failed.move();
  growYoungSpace();
  stopOnSignals(server, telemetry);
  process.stdout.write(welcome(agent, server, upstream && shownAddress(upstream.address)));
}

/** A task of a front may be taken over as often as it takes: nothing is run again. */
const FRONT_DEFAULTS = { maxAttempts: 100 };

function knowsCallers({ tokens, auth }: ServerOptions): boolean {
  return tokens !== undefined || auth.jwt !== undefined || auth.apiKeys !== undefined || auth.clientCertificates !== undefined;
}

/** Says after each option of an error how it is set. */
function namingFlags(error: unknown): never {
  if (!(error instanceof OptionsError)) throw error;
  const lines = error.message.split("\n").map((line) => {
    const known = knownOptions().find(({ path }) => line.startsWith(`${path.join(".")}:`));
    return known === undefined ? line : `${line} (set it with --${known.flag} or ${known.variable})`;
  });
  throw new OptionsError(lines.join("\n"), { cause: error });
}

function camel(flag: string): string {
  return flag.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

async function loadAgent(path: string): Promise<Agent> {
  if (!existsSync(path)) throw new OptionsError(`<agent>: there is no file ${path}`);
  let module: { default?: Partial<Agent> };
  try {
    module = (await import(pathToFileURL(resolve(path)).href)) as typeof module;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new OptionsError(`<agent>: cannot load ${path}: ${why}`, { cause });
  }
  const agent = module.default;
  if (typeof agent?.run !== "function" || typeof agent.card !== "object" || agent.card === null)
    throw new OptionsError(`<agent>: the default export of ${path} is no agent: it needs card and run`);
  return agent as Agent;
}

/**
 * Until there is a server, a signal ends the process: nothing is under way. Without being told to, the first process of a container would go on,
 * begin to serve, and be killed in the midst of it.
 */
function leaveOnSignals(): Disposable {
  process.on("SIGTERM", leave).on("SIGINT", leave);
  return { [Symbol.dispose]: () => process.off("SIGTERM", leave).off("SIGINT", leave) };
}

function leave(): never {
  process.exit(0);
}

/** SIGTERM drains; SIGINT (a person, no load balancer) drains at once; a second signal skips the waiting. */
function stopOnSignals(server: RunningServer, telemetry: Telemetry): void {
  const skip = new AbortController();
  const stop = (signal: NodeJS.Signals): void => {
    if (server.state === "draining") return skip.abort();
    ended(server, telemetry, { skip: skip.signal, atOnce: signal === "SIGINT" }).then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on("SIGTERM", stop).on("SIGINT", stop);
}

/** Drains, and tells the last of what was measured. */
async function ended(server: RunningServer, telemetry: Telemetry, how: DrainOptions): Promise<void> {
  try {
    await server.drain(how);
  } finally {
    await telemetry.shutdown();
  }
}

/** Where everything is, and one line to try per binding. */
function welcome(agent: Agent, server: RunningServer, upstream: string | undefined): string {
  const { grpc, http, ops } = server.ports;
  const { restPrefix, tls } = server.options;
  const host = reachable(server.options.host);
  const base = `${tls.cert === undefined ? "http" : "https"}://${host}:${http}`;
  const text = agent.card.skills?.[0]?.examples?.[0] ?? "hello";
  const message = (): JsonObject => ({ messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }] });
  const rpc = { jsonrpc: "2.0", id: 1, method: "SendStreamingMessage", params: { message: message() } };
  const credentials = credentialsOf(server);
  const self = `${commandLine()} send --agent ${base}${credentials.flags}`;
  const curl = `curl -N -H 'A2A-Version: 1.0' -H 'Content-Type: application/json'${credentials.curl}`;
  return `${agent.card.name ?? "agent"} is served

  gRPC        ${host}:${grpc}
  HTTP+JSON   ${base}${restPrefix}
  JSON-RPC    ${base}/jsonrpc
  card        ${base}/.well-known/agent-card.json
  operations  http://${host}:${ops}/readyz
  store       ${storeOf(server)}${upstream === undefined ? "" : `\n  upstream    ${upstream}`}

Try it, one line per binding:

  ${self} --binding grpc ${quoted(text)}
  ${curl} ${base}${restPrefix}/message:stream -d ${quoted(JSON.stringify({ message: message() }))}
  ${curl} ${base}/jsonrpc -d ${quoted(JSON.stringify(rpc))}

`;
}

/** What callers have to add to these lines, to be let in. */
function credentialsOf(server: RunningServer): { readonly flags: string; readonly curl: string } {
  const { tls, auth } = server.options;
  const secret = secretOf(server);
  if (tls.cert === undefined) return secret;
  const shows =
    tls.clientCa !== undefined && (tls.clientAuth === "require" || (auth.clientCertificates !== undefined && secret.flags === ""));
  const shown = shows ? ` --cert ${quoted("<cert.pem>")} --key ${quoted("<key.pem>")}` : "";
  const authority = quoted("<ca.pem>");
  return { flags: ` --ca ${authority}${shown}${secret.flags}`, curl: ` --cacert ${authority}${shown}${secret.curl}` };
}

function secretOf({ options }: RunningServer): { readonly flags: string; readonly curl: string } {
  const { tokens, auth } = options;
  if (tokens !== undefined || auth.jwt !== undefined)
    return { flags: ` --token ${quoted("<token>")}`, curl: ` -H ${quoted("Authorization: Bearer <token>")}` };
  if (auth.apiKeys?.in !== "header") return { flags: "", curl: "" };
  const header = quoted(`${auth.apiKeys.name}: <key>`);
  return { flags: ` --header ${header}`, curl: ` -H ${header}` };
}

/** Where the tasks live, without what gives access to it. */
function storeOf({ options }: RunningServer): string {
  const { url, prefix, shards, durability } = options.redis;
  if (url === undefined) return "memory of this process";
  const [scheme = "", rest = ""] = url.split("://");
  return `${scheme}://${rest.slice(rest.lastIndexOf("@") + 1)}, prefix ${prefix}, ${shards} shards, durability ${durability}`;
}

/** An address that a caller on this machine can use. */
function reachable(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
