/** A turn as its agent sees it. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { Message, Task } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Command } from "../../gen/throughline/v1/log_pb.ts";
import type { Turn } from "../core/agent.ts";
import type { TraceContext } from "../core/trace-context.ts";
import { callerOf } from "./caller.ts";
import type { TurnInit } from "./turn.ts";

/** The message that a command carries. */
export function messageOf({ kind }: Command): Message | undefined {
  return kind.case === "start" || kind.case === "followUp" ? kind.value : undefined;
}

/** What an agent is run with. What it says of a call, it says of the one whose message `next()` gave last. */
export function turnOf(init: TurnInit, trace: TraceContext | undefined, signal: AbortSignal, over: () => boolean): Turn {
  return new AgentTurn(init, trace, signal, over);
}

/**
 * A class and no object with getters of its own: of those, V8 would make a hidden class for each turn, which keeps all that the getters refer to until a
 * major collection. These getters are the same for all turns, and yet each turn's own: an agent around another one hands on `{ ...turn, message }`.
 */
class AgentTurn implements Turn {
  static readonly #now: PropertyDescriptorMap & ThisType<AgentTurn> = {
    task: {
      enumerable: true,
      get() {
        return this.#init.writer.fold.snapshot().task;
      },
    },
    history: {
      enumerable: true,
      get() {
        return this.task.history;
      },
    },
    memo: {
      enumerable: true,
      get() {
        return this.#init.writer.fold.memo;
      },
    },
  };
  declare readonly task: Task;
  declare readonly history: readonly Message[];
  declare readonly memo: JsonObject | undefined;
  readonly taskId: string;
  readonly contextId: string;
  readonly signal: AbortSignal;
  readonly attempt: number;
  readonly resumed: boolean;
  readonly trace: TraceContext | undefined;
  readonly message: Message;
  principal = "";
  tenant = "";
  owner = "";
  scopes: readonly string[] = [];
  claims: JsonObject = {};
  metadata: JsonObject | undefined;
  acceptedOutputModes: readonly string[] = [];
  extensions: readonly string[] = [];
  headers: Readonly<Record<string, string>> = {};
  readonly #init: TurnInit;
  readonly #over: () => boolean;

  constructor(init: TurnInit, trace: TraceContext | undefined, signal: AbortSignal, over: () => boolean) {
    this.#init = init;
    this.#over = over;
    Object.defineProperties(this, AgentTurn.#now);
    this.taskId = init.writer.fold.task.id;
    this.contextId = init.writer.fold.task.contextId;
    this.signal = signal;
    this.attempt = init.attempt;
    this.resumed = init.resumed;
    this.trace = trace;
    this.message = messageOf(init.input.command) as Message;
    this.#about(init.input.command);
  }

  // Agents may take these out of the turn.
  readonly memoOf = (taskId: string): Promise<JsonObject | undefined> => this.#init.memoOf(taskId, this);

  // What a turn has left waiting must not take a message from the next one.
  readonly next = async (): Promise<Message | undefined> => {
    const command = await this.#init.next(this.signal, this.#over);
    if (command === undefined) return undefined;
    this.#about(command);
    return messageOf(command);
  };

  #about(command: Command): void {
    Object.assign(this, callerOf(command.caller));
    this.metadata = command.metadata;
    this.acceptedOutputModes = command.acceptedOutputModes;
    this.extensions = command.extensions;
    this.headers = command.headers;
  }
}
