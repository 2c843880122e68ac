/** A send as it came, and what all its ways need. */
import { create, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { type AgentCard, type Message, MessageSchema, type SendMessageRequest } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type Command, CommandSchema, MemoSchema } from "../../gen/throughline/v1/log_pb.ts";
import type { Agent, Caller } from "../core/agent.ts";
import { TaskError } from "../core/errors.ts";
import { newMark, type NewEntry } from "../core/log-entry.ts";
import type { PushConfigRequest } from "../core/push-configs.ts";
import type { Snapshots } from "../core/snapshots.ts";
import type { Log } from "../core/telemetry.ts";
import type { Storage } from "../core/storage.ts";
import type { TraceContext } from "../core/trace-context.ts";
import { storedCaller } from "../worker/caller.ts";
import { storedTrace } from "../worker/stored-trace.ts";
import type { Worker } from "../worker/worker.ts";
import type { Resume } from "./log-extension.ts";
import type { ServiceOptions } from "./options.ts";
import { pushConfigOf } from "./push-configs.ts";
import type { Webhooks } from "./webhooks.ts";

/** What the flow needs. */
export interface SendInit {
  readonly agent: Agent;
  readonly log: Log;
  readonly card: AgentCard;
  readonly storage: Storage;
  readonly snapshots: Snapshots;
  readonly worker: Worker;
  readonly options: ServiceOptions;
  readonly webhooks: Webhooks;
}

/** A send as it came. */
export interface Send {
  readonly request: SendMessageRequest;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  /** URIs of the extensions that the call activated. */
  readonly extensions: readonly string[];
  /** Header fields that are handed on to the agent. */
  readonly headers: Readonly<Record<string, string>>;
  /** Where the call stands in a trace. */
  readonly trace?: TraceContext | undefined;
  /** Where its reader stood, if it comes back. */
  readonly resume?: Resume | undefined;
}

/** The entry of a message, with what a turn is told about its caller. */
export function commandEntry(
  kind: "start" | "followUp",
  { request, caller, extensions, headers, trace }: Send,
  message: Message,
  memo?: JsonObject,
): NewEntry & { readonly content: Command } {
  // Set one by one: to look through an init for what is to be made a message costs as much as to encode it.
  const command: Command = create(CommandSchema);
  command.kind = { case: kind, value: message };
  command.caller = storedCaller(caller);
  command.acceptedOutputModes = request.configuration?.acceptedOutputModes ?? [];
  command.extensions = [...extensions];
  command.headers = { ...headers };
  if (memo !== undefined) command.memo = create(MemoSchema, { value: memo });
  if (trace !== undefined) command.trace = storedTrace(trace);
  if (request.metadata !== undefined) command.metadata = request.metadata;
  return { kind: "command", mark: newMark(), bytes: toBinary(CommandSchema, command), content: command };
}

/** The webhook that came with a send. */
export function pushOf({ request, caller }: Send, taskId: string, init: SendInit): PushConfigRequest | undefined {
  const given = request.configuration?.taskPushNotificationConfig;
  return given && pushConfigOf(given, taskId, caller, init);
}

/** a task that could not be kept is refused before it exists. */
export function tooLarge({ maxTaskBytes }: ServiceOptions): TaskError {
  return new TaskError("MESSAGE_TOO_LARGE", `the task would be larger than ${maxTaskBytes} bytes`);
}

/** Throws MESSAGE_TOO_LARGE for a message that is larger than one event may be. `entry` holds it, and what else came with it. */
export function checkMessageBytes(message: Message, entry: NewEntry, { limits }: ServiceOptions): void {
  if (entry.bytes.length <= limits.eventBytes) return;
  const { length } = toBinary(MessageSchema, message);
  if (length <= limits.eventBytes) return;
  const violations = [{ field: "message", description: `is ${length} bytes large; at most ${limits.eventBytes} are taken` }];
  throw new TaskError("MESSAGE_TOO_LARGE", `message: is larger than ${limits.eventBytes} bytes`, { violations });
}
