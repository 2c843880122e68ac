/** What the commands share that decide about an artifact: accept, hold, reject. */
import { readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { type Command, Option } from "commander";
import {
  AcceptanceBook,
  type AcceptanceClient,
  AcceptanceError,
  type AcceptanceRecord,
  type A2AClient,
  type DecisionOptions,
  FileRecords,
  type FileOptions,
} from "../client/index.ts";
import { type AgentCall, agentCommand, calling, positive, whole } from "./agent-command.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { UsageError } from "./failures.ts";
import { say, write, writeJson } from "./output.ts";
import { recordsOption } from "./records-directory.ts";
import { recordText } from "./records-text.ts";

interface Flags {
  readonly artifact?: string;
  readonly context?: string;
  readonly work?: string;
  readonly owner?: string;
  readonly by: string;
  readonly records: string;
  readonly keep?: true;
  readonly fileLimit?: number;
  readonly fileTimeout?: number;
  readonly agent: URL;
  readonly header?: Readonly<Record<string, string>>;
  readonly token?: string;
  readonly ca?: string;
}

/** One decision. */
export interface Deciding<F> {
  readonly flags: F;
  readonly book: AcceptanceBook;
  readonly taskId: string;
  /** For the book. */
  readonly options: DecisionOptions;
}

/** A command with the flags that all of them have. */
export function acceptanceCommand(name: string): Command {
  return agentCommand(name)
    .argument("<task>", "the task's id")
    .option("--artifact <id>", "which artifact (default: the task's only one)")
    .option("--work <name>", "the piece of work that it is a version of (default: the artifact's name)")
    .option("--context <id>", "the task's context, where the agent cannot be asked")
    .option("--owner <name>", "who is to see to what could not be observed (default: you)")
    .addOption(new Option("--by <name>", "who decides").default(userName(), "you"))
    .addOption(recordsOption())
    .option("--keep", "keep the artifact's bytes with the record")
    .option("--file-limit <bytes>", "how large the files may be that the artifact refers to (default: 67108864)", whole)
    .option("--file-timeout <seconds>", "how long each of them may take (default: 60)", positive);
}

/** Gives a command what it does; shows the record that `act` answers. */
export function deciding<F>(command: Command, act: (decision: Deciding<F>) => Promise<AcceptanceRecord>): Command {
  return calling<F & Flags>(command, async (call) => {
    const { flags, args, signal } = call;
    using left = onLeave();
    const options: DecisionOptions = {
      ...(flags.artifact !== undefined && { artifactId: flags.artifact }),
      ...(flags.work !== undefined && { work: flags.work }),
      ...(flags.context !== undefined && { contextId: flags.context }),
      ...(flags.owner !== undefined && { owner: flags.owner }),
      signal: AbortSignal.any([signal, left.signal]),
    };
    let record: AcceptanceRecord;
    try {
      const book = new AcceptanceBook({
        store: new FileRecords(flags.records),
        client: lazily(call),
        by: flags.by,
        keep: flags.keep === true,
        files: fileOptions(flags),
      });
      record = await act({ flags, book, taskId: args[0] ?? "", options });
    } catch (error) {
      if (left.signal.aborted) {
        say("left: nothing was recorded");
        return EXIT.running;
      }
      throw asUsage(error);
    }
    await (flags.json ? writeJson(JSON.parse(JSON.stringify(record))) : write(recordText(record)));
    return command.name() === "accept" ? exitCodeOf(record) : EXIT.done;
  });
}

/** What an acceptance makes of its command. */
function exitCodeOf({ decision, observed }: AcceptanceRecord): ExitCode {
  if (decision === "accepted") return EXIT.done;
  if (decision !== "provisional") return EXIT.ended;
  return observed?.state.endsWith("_REQUIRED") === true ? EXIT.waiting : EXIT.running;
}

/** A client that connects when something is asked: an agent that is away is no obstacle to a record that says so. */
function lazily<F>({ connect }: AgentCall<F>): AcceptanceClient {
  let client: A2AClient | undefined;
  const open = async (): Promise<A2AClient> => (client ??= await connect());
  return {
    getTask: async (...args) => (await open()).getTask(...args),
    card: async (...args) => (await open()).card(...args),
    get endpoint() {
      return client?.endpoint;
    },
  };
}

/** Files at the agent's own host are asked for as the agent is; others get no credentials. */
function fileOptions({ agent, header, token, ca, fileLimit, fileTimeout }: Flags): FileOptions {
  const own = { ...header, ...(token && { authorization: `Bearer ${token}` }) };
  return {
    headers: ({ origin }) => (origin === agent.origin ? own : {}),
    ...(fileLimit !== undefined && { maxBytes: fileLimit }),
    ...(fileTimeout !== undefined && { timeoutMs: fileTimeout * 1000 }),
    ...(ca !== undefined && { ca: pem(ca) }),
  };
}

function pem(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    throw new UsageError(`--ca: cannot read ${file}`);
  }
}

const FLAG_OF: Readonly<Record<string, string>> = {
  artifactId: "--artifact",
  checks: "--check or --judged",
  criteria: "--criterion",
  reason: "--reason",
  by: "--by",
  subject: "task",
};

/** Bad input by the flag that it came with. */
function asUsage(error: unknown): unknown {
  const flag = error instanceof AcceptanceError ? FLAG_OF[error.field] : undefined;
  return flag === undefined ? error : new UsageError(`${flag}: ${(error as AcceptanceError).description}`);
}

/** Ctrl-C, and what else ends a command from outside: what was begun ends too, and nothing is recorded. */
function onLeave(): { readonly signal: AbortSignal } & Disposable {
  const leave = new AbortController();
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  const abort = (): void => leave.abort();
  for (const name of signals) process.once(name, abort);
  return {
    signal: leave.signal,
    [Symbol.dispose]: () => {
      for (const name of signals) process.off(name, abort);
    },
  };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return "unknown";
  }
}
