/** What the commands that call an agent share: the flags that say where it is and how to call it, and how they end. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { Command, InvalidArgumentError, Option } from "commander";
import { A2AClient, A2AError, type ClientOptionsInput } from "../client/index.ts";
import { BINDINGS, header } from "./call-flags.ts";
import { addressHint, credentialsHint, webhookHint } from "./agent-hints.ts";
import type { ExitCode } from "./exit-codes.ts";
import { reportFailure, UsageError } from "./failures.ts";
import { commandLine } from "./command-line.ts";
import { shellWord } from "./shell-word.ts";

const DEFAULT_AGENT = "http://127.0.0.1:8080";

interface AgentFlags {
  readonly agent: URL;
  readonly binding?: string;
  readonly header?: Readonly<Record<string, string>>;
  readonly token?: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly plaintext?: true;
  readonly timeout?: number;
  readonly json?: true;
}

/** One run of such a command. */
export interface AgentCall<F> {
  readonly flags: F & { readonly json?: true };
  readonly args: readonly string[];
  /** Aborts when the time is over that `--timeout` gives. */
  readonly signal: AbortSignal;
  /** The agent's client; it is closed when the command ends. */
  readonly connect: (options?: ClientOptionsInput) => Promise<A2AClient>;
  /** The line that calls the same agent in the same way with these words; secrets are left out. */
  readonly again: (...words: readonly string[]) => string;
}

/** A command with the flags that all of them have. */
export function agentCommand(name: string): Command {
  const command = new Command(name).option("--json", "JSON for machines; where a task is watched, a line per event");
  for (const option of callOptions()) command.addOption(option.helpGroup("How the agent is called:"));
  return command;
}

function callOptions(): readonly Option[] {
  return [
    new Option("--agent <url>", "the agent: its base URL, or that of its card")
      .env("THROUGHLINE_AGENT")
      .default(new URL(DEFAULT_AGENT), DEFAULT_AGENT)
      .argParser(agentUrl),
    new Option("--binding <name>", "over which binding (default: as its card prefers)").choices(Object.keys(BINDINGS)),
    new Option("--header <field>", "'Name: value' to send with every call; repeatable").argParser(header),
    new Option("--token <token>", "bearer token to send with every call").env("THROUGHLINE_TOKEN"),
    new Option("--ca <file>", "authorities to trust, in PEM"),
    new Option("--cert <file>", "certificate to show, in PEM; with --key"),
    new Option("--key <file>", "its key, in PEM"),
    new Option("--plaintext", "gRPC without TLS, whatever the card says"),
    new Option("--timeout <seconds>", "give up after this time; a task goes on").argParser(positive),
  ];
}

/** Gives a command what it does: `act` answers the exit code, and what it throws is told in one line. */
export function calling<F>(command: Command, act: (call: AgentCall<F>) => Promise<ExitCode>): Command {
  return command.action(async () => {
    const flags = command.opts<AgentFlags>();
    await using clients = new AsyncDisposableStack();
    const signal = flags.timeout === undefined ? new AbortController().signal : AbortSignal.timeout(flags.timeout * 1000);
    let client: A2AClient | undefined;
    const call: AgentCall<F> = {
      flags: flags as AgentFlags & F,
      args: command.args,
      signal,
      connect: async (options = {}) => (client = clients.use(await connect(flags, options, signal))),
      again: (...words) => [commandLine(), ...words.map(shellWord), ...givenFlags(command)].join(" "),
    };
    try {
      process.exitCode = await act(call);
    } catch (error) {
      const advice = error instanceof A2AError ? await adviceOn(error, flags.agent, client) : undefined;
      process.exitCode = await reportFailure(error, { json: flags.json === true, advice });
    }
  });
}

/** What to try, where the agent's card or address tells more than the error's reason. */
async function adviceOn(failed: A2AError, agent: URL, client: A2AClient | undefined): Promise<string | undefined> {
  if (failed.reason !== "UNAUTHENTICATED") return webhookHint(failed, agent);
  const card = await client?.card().catch(() => undefined);
  return card && credentialsHint(card);
}

/** A whole number above 0, for a flag. */
export function whole(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("It must be a whole number above 0.");
  return Number(text);
}

/** A number above 0, for a flag. */
export function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= 2_000_000)) throw new InvalidArgumentError("It must be a number above 0.");
  return value;
}

function agentUrl(text: string): URL {
  // A variable that is set to nothing counts as one that is not set.
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : text === "" ? DEFAULT_AGENT : `http://${text}`);
  if (url === null || !/^https?:$/.test(url.protocol)) throw new InvalidArgumentError("It must be an http or https URL.");
  return url;
}

async function connect(flags: AgentFlags, options: ClientOptionsInput, signal: AbortSignal): Promise<A2AClient> {
  const binding = flags.binding === undefined ? undefined : BINDINGS[flags.binding];
  if ((flags.cert === undefined) !== (flags.key === undefined)) throw new UsageError("--cert and --key go together");
  const [ca, cert, key] = (["ca", "cert", "key"] as const).map((flag) => pem(flag, flags[flag]));
  if (cert !== undefined && key !== undefined && !isPair(cert, key))
    throw new UsageError(`--key: ${flags.key} is not the key of the certificate in ${flags.cert} (--cert)`);
  const given: ClientOptionsInput = {
    ...options,
    ...(binding && { bindings: [binding] }),
    ...(flags.plaintext && { plaintext: true }),
    headers: { ...flags.header, ...(flags.token && { authorization: `Bearer ${flags.token}` }) },
    tls: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) },
  };
  try {
    return await A2AClient.connect(flags.agent, { ...given, signal });
  } catch (error) {
    if (!(error instanceof A2AError)) throw error;
    const { why, advice } = addressHint(error, flags.agent) ?? {};
    const said = why === undefined ? error.message : `there is no agent card to be had at ${flags.agent.origin}: ${why}`;
    throw new A2AError(
      error.cause,
      `${said}; ${advice === undefined ? "" : `${advice}, `}--agent or THROUGHLINE_AGENT says where the agent is`,
    );
  }
}

function isPair(cert: string, key: string): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

function pem(flag: string, file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, "utf8");
  } catch {
    throw new UsageError(`--${flag}: cannot read ${file}`);
  }
}

/** The shared flags as they were given. */
function givenFlags(command: Command): string[] {
  const flags = command.opts<AgentFlags>();
  const given = (name: string): boolean => command.getOptionValueSource(name) === "cli";
  const files = (["ca", "cert", "key"] as const).flatMap((name) =>
    flags[name] === undefined ? [] : [`--${name}`, shellWord(flags[name])],
  );
  return [
    ...(given("agent") ? ["--agent", shellWord(flags.agent.href)] : []),
    ...(flags.binding === undefined ? [] : ["--binding", flags.binding]),
    ...Object.keys(flags.header ?? {}).flatMap((name) => ["--header", shellWord(`${name}: <value>`)]),
    ...(given("token") ? ["--token", shellWord("<token>")] : []),
    ...files,
    ...(flags.plaintext ? ["--plaintext"] : []),
  ];
}
