/** What an agent is to the service: a card and an async generator. */
import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf";
import type { AgentCard, AgentCardSchema, Message, MessageSchema, Task } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { AgentEvent } from "./events.ts";
import type { TraceContext } from "./trace-context.ts";

/** The agent's own part of the card; the server adds interfaces, the versions it speaks and the capabilities that are its own. */
export type AgentCardInit = Omit<
  Exclude<MessageInitShape<typeof AgentCardSchema>, AgentCard>,
  "$typeName" | "supportedInterfaces" | "signatures"
>;

/** Why a turn was aborted: the caller canceled, the lease went to another replica, this replica is draining, or the run broke a bound. */
export type AbortCause = "canceled" | "lease-lost" | "draining" | "failed";

/** The reason of a turn's AbortSignal. */
export class TurnAborted extends Error {
  override readonly name = "TurnAborted";
  readonly abortCause: AbortCause;

  constructor(abortCause: AbortCause) {
    super(`the turn was aborted: ${abortCause}`);
    this.abortCause = abortCause;
  }
}

/** Who calls, as far as the server knows. */
export interface Caller {
  /** `anonymous` where nobody authenticated. */
  readonly principal: string;
  /** Tenant that the call named; empty where tenancy is off. */
  readonly tenant: string;
  /** Whose tasks the caller's are: the principal, unless the server's `ownerOf` says otherwise. */
  readonly owner: string;
  /** What the caller may do, in the words of whoever vouches for it; empty where nobody does. */
  readonly scopes: readonly string[];
  /** What else is known of the caller, such as the claims of its token that the server is told to hand on. */
  readonly claims: JsonObject;
}

/**
 * One run of the agent on a task, until `run` returns or throws; called by whoever sent its message. Who calls, `metadata`,
 * `acceptedOutputModes`, `extensions` and `headers` belong to the message that `next()` gave last, until then to `message`.
 */
export interface Turn extends Caller {
  readonly taskId: string;
  readonly contextId: string;
  /** The task as it is stored now: what was yielded is in it as soon as it is appended. Read it, do not change it. */
  readonly task: Task;
  /** The message that this turn answers. */
  readonly message: Message;
  /** The conversation so far, `message` included, oldest first (at most `historyLimit`). */
  readonly history: readonly Message[];
  /** Aborts with a {@link TurnAborted} reason. What is yielded after a cancel may still win with its own terminal state. */
  readonly signal: AbortSignal;
  /** 1 for the first run; grows with every run after a takeover. */
  readonly attempt: number;
  /** Whether an earlier run of this turn was cut off by a crash or a drain (only for agents that say `resumable`). */
  readonly resumed: boolean;
  /** Metadata of the request that brought the message. */
  readonly metadata: JsonObject | undefined;
  /** Media types the caller takes; empty means any. */
  readonly acceptedOutputModes: readonly string[];
  /** URIs of the card's extensions that the call activated with `A2A-Extensions`, in the card's order. */
  readonly extensions: readonly string[];
  /** Header fields of the call, by their names in lower case: those that the option `forwardHeaders` names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Where the turn stands in a trace: what goes to other services with it is part of the same trace. Undefined where nobody traces. */
  readonly trace?: TraceContext | undefined;
  /** What an earlier run on this task left with `memo()`, or this one, as soon as it is stored; undefined where nothing was left. */
  readonly memo: JsonObject | undefined;
  /** The last memo of another of this caller's tasks, one that `message.referenceTaskIds` names, say; undefined where there is none. */
  memoOf(taskId: string): Promise<JsonObject | undefined>;
  /**
   * The next message on this task, for a turn that stays alive across an interrupted state or says `acceptsMessages`.
   * Resolves to undefined when the turn is aborted or over.
   */
  next(): Promise<Message | undefined>;
}

/** What `reply` is asked with: a message that names no task. */
export interface ReplyRequest extends Caller {
  readonly message: Message;
  readonly signal: AbortSignal;
  readonly metadata: JsonObject | undefined;
  readonly acceptedOutputModes: readonly string[];
  readonly extensions: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** As {@link Turn.trace}, of the call. */
  readonly trace?: TraceContext | undefined;
  /** Context that the task will be in, if there is to be one, or that of the answer: the message's own, or a new one. */
  readonly contextId: string;
  /** As {@link Turn.memoOf}. */
  memoOf(taskId: string): Promise<JsonObject | undefined>;
}

/** What `reply` answers where a task is to begin and it has found out something that the task's turns are to know. */
export interface BeginTask {
  /** The task's first memo, stored with the task itself. */
  readonly memo: JsonObject;
}

/**
 * A task that was canceled while no turn ran on it; or one that `reply` wanted to begin and that never came to be, since a repeat of the
 * same send was quicker on another replica. The caller is who asked for its end.
 */
export interface CanceledTask extends Caller {
  readonly taskId: string;
  readonly contextId: string;
  /** False for a task that never came to be. */
  readonly begun: boolean;
  readonly memo: JsonObject | undefined;
  /** Metadata of the request to cancel. */
  readonly metadata: JsonObject | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** As {@link Turn.trace}, of the call that asked. */
  readonly trace?: TraceContext | undefined;
}

/** Who asks for the extended card. */
export interface CardReader extends Caller {
  /** Header fields of the call, as {@link Turn.headers}. */
  readonly headers: Readonly<Record<string, string>>;
  /** As {@link Turn.trace}, of the call. */
  readonly trace?: TraceContext | undefined;
}

/** An agent. Only `card` and `run` are required. */
export interface Agent {
  readonly card: AgentCardInit;
  /**
   * Works on a task and yields its events. The task exists, SUBMITTED and with the message in its history, before this is called.
   * Returning means COMPLETED unless the task is at rest already; throwing means FAILED with a safe message.
   */
  run(turn: Turn): AsyncIterable<AgentEvent>;
  /**
   * Answers with a plain Message and no task, or with undefined or {@link BeginTask} to let a task begin. Awaited at most `replyTimeoutMs`,
   * and no longer than its caller waits; a {@link BeginTask} that comes after that begins its task all the same.
   */
  reply?(request: ReplyRequest): Promise<MessageInitShape<typeof MessageSchema> | BeginTask | undefined>;
  /**
   * Told of a {@link CanceledTask}: it waited for its caller, or for a replica. What it began elsewhere can be stopped too. The task has ended already; nobody waits for this, and it is not repeated. A turn that runs hears of a cancel by its signal.
   */
  canceled?(task: CanceledTask): Promise<void>;
  /**
   * The card for a caller who is known, or undefined where there is none for it. Asked only where the server authenticates its callers
   * it should hold no secrets.
   */
  extendedCard?(reader: CardReader): AgentCardInit | undefined | Promise<AgentCardInit | undefined>;
  /** Whether a run that was cut off may be run again (`resumed: true`). Default false: such a task ends FAILED with the cause. */
  readonly resumable?: boolean;
  /** Whether messages are taken while the task is WORKING. Default false: refused with UnsupportedOperation (C-39). */
  readonly acceptsMessages?: boolean;
}
