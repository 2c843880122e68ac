/** Tells an agent of a task that was canceled while no turn ran on it. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { Command } from "../../gen/throughline/v1/log_pb.ts";
import type { Agent } from "../core/agent.ts";
import type { Log } from "../core/telemetry.ts";
import { callerOf } from "./caller.ts";
import { traceOf } from "./stored-trace.ts";

/** The task, and what asked for its end. */
export interface Cancellation {
  readonly taskId: string;
  readonly contextId: string;
  /** Default true. */
  readonly begun?: boolean;
  readonly memo: JsonObject | undefined;
  /** The cancel command; undefined where nobody sent one. */
  readonly command: Command | undefined;
}

/** Does not wait for the agent, and never throws: the task has ended whatever the agent does. */
export function tellCanceled({ agent, log }: { readonly agent: Agent; readonly log: Log }, cancellation: Cancellation): void {
  const { taskId, contextId, begun = true, memo, command } = cancellation;
  const { caller, metadata, headers = {} } = command ?? {};
  const trace = traceOf(command);
  const canceled = { taskId, contextId, begun, memo, ...callerOf(caller), metadata, headers, trace };
  const tell = async (): Promise<void> => agent.canceled?.(canceled);
  tell().catch((error: unknown) => log.warn({ taskId, error }, "the agent threw when it was told that a task was canceled"));
}
