/** The flags of `throughline serve --upstream`: where the upstream agent is, and how it is called. */
import { readFileSync } from "node:fs";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { ClientOptionsInput } from "../client/index.ts";
import { OptionsError } from "../server/options.ts";
import type { UpstreamOptionsInput } from "../upstream/upstream-options.ts";
import { BINDINGS, header } from "./call-flags.ts";

/** How long an upstream that is not up is waited for. */
const WAIT_MS = 30_000;

/** The flags as commander gives them. */
interface Flags {
  readonly upstream?: string;
  readonly upstreamBinding?: string;
  readonly upstreamHeader?: Readonly<Record<string, string>>;
  readonly upstreamToken?: string;
  readonly upstreamCa?: string;
  readonly upstreamCert?: string;
  readonly upstreamKey?: string;
  readonly upstreamPlaintext?: string | true;
  readonly upstreamExtensions?: readonly string[];
  readonly upstreamAcceptsMessages?: string | true;
  readonly upstreamLost?: "fail" | "rerun";
  readonly upstreamFirstWordMs?: number;
  readonly upstreamAwayMs?: number;
  readonly upstreamSettleMs?: number;
  readonly upstreamPollMs?: number;
  readonly upstreamWaitMs?: number;
}

/** What the flags ask for. */
export interface UpstreamAsked {
  /** URL of its card, or `host:port`. */
  readonly address: string;
  readonly options: UpstreamOptionsInput;
  readonly waitMs: number;
}

/** The flags, each also a variable of the environment. */
export function upstreamOptions(): readonly Option[] {
  return [
    option("upstream <address>", "an A2A agent to serve, in the place of a module: the URL of its card, or host:port"),
    option("upstream-binding <name>", "over which binding it is called (default: as its card prefers)").choices(Object.keys(BINDINGS)),
    option("upstream-header <field>", "'Name: value' to send with every call; repeatable").argParser(header),
    option("upstream-token <token>", "bearer token to send with every call"),
    option("upstream-ca <file>", "authorities to trust, in PEM"),
    option("upstream-cert <file>", "certificate to show, in PEM; with --upstream-key"),
    option("upstream-key <file>", "its key, in PEM"),
    truth("upstream-plaintext", "gRPC without TLS, whatever its card says"),
    option("upstream-extensions <uris>", "extensions that callers may activate there, separated by commas; the card keeps them").argParser(
      list,
    ),
    truth("upstream-accepts-messages", "it takes messages while it works, and they are handed on"),
    option("upstream-lost <policy>", "a task that it has lost ends FAILED, or is sent again (default: fail)").choices(["fail", "rerun"]),
    option("upstream-first-word-ms <ms>", "how long a send waits for its first word; 0: not at all (default: 2000)").argParser(whole),
    option("upstream-away-ms <ms>", "how long it may be away before tasks that wait for it end FAILED (default: 900000)").argParser(whole),
    option(
      "upstream-settle-ms <ms>",
      "how long a message that may have arrived is looked for before it is sent again (default: 10000)",
    ).argParser(whole),
    option("upstream-poll-ms <ms>", "how often it is asked where it does not stream (default: 1000)").argParser(whole),
    option("upstream-wait-ms <ms>", `how long it is waited for at the start (default: ${WAIT_MS})`).argParser(whole),
  ];
}

/** What the flags of a command ask for; undefined where they name no upstream. Throws OptionsError for flags that do not go together. */
export function upstreamAsked(command: Command, forwardHeaders: readonly string[]): UpstreamAsked | undefined {
  const flags = command.opts<Flags>();
  const address = flags.upstream;
  if (address === undefined || address === "") {
    const idle = command.options.find((one) => isOurs(one) && command.getOptionValueSource(one.attributeName()) === "cli");
    if (idle !== undefined) throw new OptionsError(`${idle.long}: has no effect without --upstream`);
    return undefined;
  }
  const { upstreamExtensions: extensions, upstreamLost: lost, upstreamFirstWordMs: firstWordMs, upstreamAwayMs: awayMs } = flags;
  const { upstreamSettleMs: settleMs } = flags;
  const client = clientOptions(flags);
  const acceptsMessages = isTrue(flags.upstreamAcceptsMessages);
  const given = { extensions, lost, firstWordMs, awayMs, settleMs };
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Partial<UpstreamOptionsInput>;
  return {
    address: addressOf(address),
    options: { ...set, client, acceptsMessages, forwardHeaders },
    waitMs: flags.upstreamWaitMs ?? WAIT_MS,
  };
}

function clientOptions(flags: Flags): ClientOptionsInput {
  const binding = BINDINGS[flags.upstreamBinding ?? ""];
  if ((flags.upstreamCert === undefined) !== (flags.upstreamKey === undefined))
    throw new OptionsError("--upstream-cert and --upstream-key go together");
  const [ca, cert, key] = (["ca", "cert", "key"] as const).map((name) =>
    pem(name, flags[`upstream${name === "ca" ? "Ca" : name === "cert" ? "Cert" : "Key"}`]),
  );
  const { upstreamToken: token, upstreamPollMs: pollIntervalMs } = flags;
  return {
    ...(binding && { bindings: [binding] }),
    ...(isTrue(flags.upstreamPlaintext) && { plaintext: true }),
    ...(pollIntervalMs !== undefined && { pollIntervalMs }),
    headers: { ...flags.upstreamHeader, ...(token && { authorization: `Bearer ${token}` }) },
    tls: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) },
  };
}

/** An address as it may be shown: a URL without its credentials. */
export function shownAddress(address: string): string {
  const url = URL.parse(address);
  if (url === null || (url.username === "" && url.password === "")) return address;
  [url.username, url.password] = ["", ""];
  return url.href;
}

/** A URL as it is; anything else is taken for `host:port`. */
function addressOf(text: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) {
    if (/^https?:$/.test(URL.parse(text)?.protocol ?? "")) return text;
    throw new OptionsError(`--upstream: ${text} is no http or https URL`);
  }
  if (/^(\[[0-9a-f:]+\]|[a-z0-9._-]+):\d{1,5}$/i.test(text)) return text;
  throw new OptionsError(`--upstream: ${text} is neither the URL of a card nor host:port`);
}

function pem(name: string, file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new OptionsError(`--upstream-${name}: cannot read ${file}`, { cause });
  }
}

function option(flags: string, description: string): Option {
  const [name = ""] = flags.split(" ");
  const variable = `THROUGHLINE_${name.replaceAll("-", "_").toUpperCase()}`;
  return new Option(`--${flags}`, description).env(variable).helpGroup("In front of another agent:");
}

function truth(name: string, description: string): Option {
  return option(`${name} [value]`, description).choices(["true", "false"]);
}

function isTrue(value: string | true | undefined): boolean {
  return value === true || value === "true";
}

function isOurs({ long }: Option): boolean {
  return long?.startsWith("--upstream-") === true;
}

function list(text: string): string[] {
  return text
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "");
}

function whole(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("It must be a whole number of milliseconds.");
  return Number(text);
}
