/** A turn as its agent sees it. */
import type { Message } from "../../gen/lf/a2a/v1/a2a_pb.ts";
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
  const { writer, input, attempt, resumed, next, memoOf } = init;
  const { id: taskId, contextId } = writer.fold.task;
  let { command } = input;
  let caller = callerOf(command.caller);
  return {
    taskId,
    contextId,
    signal,
    attempt,
    resumed,
    trace,
    message: messageOf(command) as Message,
    get task() {
      return writer.fold.snapshot().task;
    },
    get history() {
      return writer.fold.snapshot().task.history;
    },
    get memo() {
      return writer.fold.memo;
    },
    get principal() {
      return caller.principal;
    },
    get tenant() {
      return caller.tenant;
    },
    get owner() {
      return caller.owner;
    },
    get scopes() {
      return caller.scopes;
    },
    get claims() {
      return caller.claims;
    },
    get metadata() {
      return command.metadata;
    },
    get acceptedOutputModes() {
      return command.acceptedOutputModes;
    },
    get extensions() {
      return command.extensions;
    },
    get headers() {
      return command.headers;
    },
    memoOf: (id) => memoOf(id, caller),
    // What a turn has left waiting must not take a message from the next one.
    next: async () => {
      const following = await next(signal, over);
      if (following === undefined) return undefined;
      command = following;
      caller = callerOf(command.caller);
      return messageOf(command);
    },
  };
}
