/**
 * What a foreign implementation is to the interop run: programs that serve the word agent, and programs that call ours.
 *
 * A *server* program prints one line `ready {"card":"http://…","grpc":"host:port"?}` when it serves, on ports that it picks itself, and ends
 * when its stdin is closed. Its agent goes by the first word of the text:
 *
 * | text | what the task does |
 * | --- | --- |
 * | `echo x` | COMPLETED, one artifact with the text `x` |
 * | `stream N MS` | WORKING; `c1 ` to `cN ` into one artifact by append, MS apart; COMPLETED |
 * | `ask` | INPUT_REQUIRED with a message; the follow-up completes it with an artifact that is its text |
 * | `slow` | WORKING for a minute, cancelable |
 * | `fail` | FAILED with a message |
 * | `message x` | no task: a direct Message `x`, where the SDK can |
 *
 * A *client* program is run as `… <binding> <card-url> <operation> [args]`, binding `grpc`, `rest` or `jsonrpc`, and does one of
 *
 * | operation | what it does |
 * | --- | --- |
 * | `send TEXT [TASK CONTEXT]` | SendMessage; the task at rest, or the message; a follow-up where a task is named |
 * | `stream TEXT` | SendStreamingMessage to its end |
 * | `resume TEXT [OTHER-CARD-URL]` | streams, drops the connection after the second chunk, opens a new client (of the other card where one is named), SubscribeToTask, reads to the end |
 * | `cancel` | sends `slow`, returning immediately or by a stream, and cancels it |
 * | `list CONTEXT` | ListTasks of a context |
 * | `push TASK` | creates a push config (`https://example.com/hook`), gets, lists and deletes it |
 * | `error` | GetTask of an id that nobody has |
 *
 * Its last line is one JSON object, a {@link ClientReport}. It folds events itself, as its SDK's users would.
 */

/** A2A's three bindings, as programs are told. */
export type Binding = "grpc" | "rest" | "jsonrpc";

/** How a program is started. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  /** Beside the environment of the run. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: the repository. */
  readonly cwd?: string;
}

/** The last line of a client program. */
export interface ClientReport {
  readonly ok: boolean;
  /** Name of the task's last state, as in the schema. */
  readonly state?: string;
  /** The text of each artifact. */
  readonly artifacts?: readonly string[];
  /** `send`, of a direct message: its text. */
  readonly message?: string;
  readonly taskId?: string;
  readonly contextId?: string;
  /** `list`: the ids of the tasks. `push`: those of the configs that were listed before the deletion. */
  readonly ids?: readonly string[];
  /** The SDK has no such operation. */
  readonly unsupported?: boolean;
  /** Why it has not, in one line that is the same in each run. */
  readonly why?: string;
  /** What failed, for people. `error`: what the SDK threw. */
  readonly error?: string;
  /** Of `google.rpc.ErrorInfo`, or the reason that the SDK's error class stands for. */
  readonly reason?: string;
}

/** A cell that is known not to work, and whose fault it is: the run says so in the page, and fails where it turns out to work. */
export interface Remark {
  /** Columns of the page. */
  readonly columns: readonly string[];
  /** Default: all that it speaks. */
  readonly bindings?: readonly Binding[];
  readonly outcome: "not offered" | "fails";
  /** One line: what their code does, and where, so that somebody else can find it. */
  readonly why: string;
}

interface ForeignProgram {
  /** As the page calls it: `a2a-sdk` or `grpcio`, without the language. */
  readonly name: string;
  /** The pinned version of what it is built on. */
  readonly version: string;
  readonly command: Command;
  readonly bindings: readonly Binding[];
  readonly remarks?: readonly Remark[];
}

/** A server that is not ours. */
export type ForeignServer = ForeignProgram;

/** A client that is not ours. */
export type ForeignClient = ForeignProgram;

/** A program that a kit is built or run with. */
interface Tool {
  /** Looked for on the PATH. */
  readonly program: string;
  /** The command, or the page, that installs it. */
  readonly install: string;
}

/** One language's programs. */
export interface ForeignKit {
  /** As `--only` calls it. */
  readonly name: string;
  /** As the page calls it. */
  readonly title: string;
  readonly needs: readonly Tool[];
  /** What a reader of the page should know of its programs, in a sentence: which SDK could not be built, and why. */
  readonly about?: string;
  /** Makes the programs ready in a folder of its own that outlives the run; cheap where nothing has changed. Throws where it cannot. */
  build(cache: string): Promise<void>;
  /** What there is in that folder once it is built. */
  servers(cache: string): readonly ForeignServer[];
  clients(cache: string): readonly ForeignClient[];
}
