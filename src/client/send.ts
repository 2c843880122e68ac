/** A send, waited for in one of three ways; all of them yield the same frames (5.7). */
import { Code } from "@connectrpc/connect";
import type {
  AgentCard,
  Message,
  SendMessageConfiguration,
  SendMessageResponse,
  StreamResponse,
  Task,
} from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { JsonObject } from "@bufbuild/protobuf";
import { A2AError, isTransient, NothingSentError, UnknownOutcomeError } from "./a2a-error.ts";
import type { Wait } from "./client-options.ts";
import type { CallExtras, Connection } from "./connection.ts";
import { isInterrupted, stateOf } from "../core/task.ts";
import { fillGaps, follow, type Following, poll, restDespite, statusMark } from "./follow.ts";
import { comeBack, isPatienceOver } from "./come-back.ts";
import type { Waker } from "./pause.ts";
import type { TaskView } from "./task-view.ts";

/** What is sent. */
export interface Sending {
  readonly connection: Connection;
  readonly message: Message;
  readonly configuration: SendMessageConfiguration;
  readonly metadata: JsonObject | undefined;
  readonly wait: Wait;
  readonly view: TaskView;
  readonly signal: AbortSignal;
  /** Ends its pauses early. */
  readonly waker: Waker;
  /** Goes with every call. */
  readonly extras: CallExtras;
}

/** URI under which a server says how it treats repeated sends: docs/extensions.md. */
const IDEMPOTENT_SEND_URI = "urn:throughline:a2a:idempotent-send:v1";

/** Sends, and yields what comes until the task is at rest; a `message` frame is the answer of an agent that made no task. */
export async function* send(sending: Sending): AsyncGenerator<StreamResponse, void> {
  const card = await sending.connection.card(sending.signal);
  const streams = card.capabilities?.streaming === true;
  const wait = sending.wait === "auto" ? (streams ? "stream" : "poll") : sending.wait;
  if (wait === "stream") {
    yield* sendStreaming(sending, card);
    if (sending.view.task !== undefined) yield* fillGaps(followingOf(sending, sending.view.task));
    return;
  }
  const before = wait === "poll" && sending.message.taskId !== "" ? await waitingMark(sending) : undefined;
  const first = await sendUnary(sending, card, { blocks: wait === "block" });
  yield first;
  if (first.payload.case !== "task" || (sending.view.atRest && statusMark(sending.view.task) !== before)) return;
  const following = followingOf(sending, first.payload.value);
  yield* streams && wait === "block" ? follow(following) : poll(following, before);
}

/**
 * The status of a task that waits for the message: some servers answer that with the task as it stood before (C-38). Undefined where it
 * does not wait, or cannot be read: then the send tells.
 */
async function waitingMark({ connection, message, signal, extras }: Sending): Promise<string | undefined> {
  try {
    const task = await connection.call({ ...extras, signal, repeatable: true }, ({ calls, tenant, options }) =>
      calls.getTask({ id: message.taskId, tenant, historyLength: 0 }, options),
    );
    return isInterrupted(stateOf(task)) ? statusMark(task) : undefined;
  } catch (error) {
    if (!(error instanceof A2AError)) throw error;
    return undefined;
  }
}

/** The stream of the send, then those that pick the task up again. */
async function* sendStreaming(sending: Sending, card: AgentCard): AsyncGenerator<StreamResponse, void> {
  const { connection, message, configuration, metadata, view, signal, waker, extras } = sending;
  const { reconnect } = connection.options;
  let cause: A2AError | undefined;
  // A repeat may find that the task waits anew.
  let goesOn = message.taskId !== "";
  let unseen = true;
  for (let attempt = 1; view.task === undefined; attempt += 1) {
    try {
      const frames = connection.stream({ ...extras, signal }, ({ calls, tenant, options }) =>
        calls.sendStreamingMessage({ message, configuration, tenant, ...(metadata && { metadata }) }, options),
      );
      // Some servers show a task that waits as it stood before this message, and only then what comes of it (C-38).
      let before = false;
      let first = goesOn;
      for await (const frame of frames) {
        view.add(frame);
        yield frame;
        const { case: kind } = frame.payload;
        if (kind === "message" && view.task === undefined) return;
        if (kind === "task" || kind === "statusUpdate") before = first;
        first = false;
        if (view.terminal || (view.atRest && !before)) return;
      }
      // Nothing followed: this is how the task stands.
      if (view.atRest) return;
      if (view.task === undefined) throw new A2AError(new Error("the stream ended before its first frame"));
    } catch (thrown) {
      if (!(thrown instanceof A2AError)) throw thrown;
      if (view.task !== undefined) {
        if (!isCut(thrown)) {
          yield* restDespite(followingOf(sending, view.task), thrown);
          return;
        }
        cause = thrown;
        break;
      }
      unseen &&= isUnseen(thrown);
      await mayRepeat(sending, card, thrown, { more: attempt < reconnect.attempts, unseen });
      goesOn &&= unseen;
      await comeBack(connection.options, { taskId: undefined, losses: attempt, cause: thrown, signal, waker });
    }
  }
  if (view.task !== undefined) yield* follow(followingOf(sending, view.task), { cause });
}

/**
 * SendMessage: the task as it is then, or the message, as a frame. One that `blocks` takes as long as the agent does; where it breaks off,
 * or is silent for `silenceMs`, its repeat asks only which task it has begun: another that blocks would be cut like it.
 */
async function sendUnary(sending: Sending, card: AgentCard, { blocks }: { readonly blocks: boolean }): Promise<StreamResponse> {
  const { connection, message, metadata, view, signal, waker, extras } = sending;
  const { reconnect, silenceMs } = connection.options;
  let returnImmediately = !blocks;
  let unseen = true;
  for (let attempt = 1; ; attempt += 1) {
    const configuration = { ...sending.configuration, returnImmediately };
    const timeout = returnImmediately ? {} : { timeoutMs: knowsRepeats(card) ? silenceMs : ("none" as const) };
    try {
      const reply: SendMessageResponse = await connection.call(
        { ...extras, signal, repeatable: false, ...timeout },
        ({ calls, tenant, options }) => calls.sendMessage({ message, configuration, tenant, ...(metadata && { metadata }) }, options),
      );
      const { payload } = reply;
      if (payload.case === undefined) throw new A2AError(new Error("the agent answered neither a task nor a message"));
      const frame: StreamResponse = { $typeName: "lf.a2a.v1.StreamResponse", payload };
      view.add(frame);
      return frame;
    } catch (thrown) {
      if (!(thrown instanceof A2AError)) throw thrown;
      unseen &&= isUnseen(thrown);
      await mayRepeat(sending, card, thrown, { more: attempt < reconnect.attempts, unseen });
      returnImmediately ||= !unseen;
      await comeBack(connection.options, { taskId: undefined, losses: attempt, cause: thrown, signal, waker });
    }
  }
}

/**
 * Throws where the send is not to be made again: the server has refused it; or it broke off with its outcome unknown, and the server does
 * not say that it knows repeats (CL-13 to CL-15). `unseen`: no attempt so far has come to the server.
 */
async function mayRepeat(
  { message, connection }: Sending,
  card: AgentCard,
  error: A2AError,
  { more, unseen }: { readonly more: boolean; readonly unseen: boolean },
): Promise<void> {
  if (!isCut(error)) throw error;
  const hopeless = (error instanceof NothingSentError && !isTransient(error)) || isPatienceOver(connection.options, error);
  if (more && !hopeless && (unseen || knowsRepeats(card))) return;
  if (unseen) throw error;
  throw new UnknownOutcomeError(error, {
    messageId: message.messageId,
    contextId: message.contextId || undefined,
    taskId: error.metadata["taskId"],
  });
}

/** Whether the server has seen nothing of an attempt that ended so. */
function isUnseen(error: A2AError): boolean {
  return error.unreached || error instanceof NothingSentError;
}

/** Whether an error says nothing about what was asked for. */
function isCut(error: A2AError): boolean {
  return isTransient(error) || error.code === Code.Unknown || error.code === Code.Canceled || error.code === Code.Aborted;
}

/** Whether a server answers a repeated send with the task of the first one, so that sending again is safe. */
export function knowsRepeats(card: AgentCard): boolean {
  const declared = card.capabilities?.extensions.find(({ uri }) => uri === IDEMPOTENT_SEND_URI);
  // In mode `running` a repeat is joined only while its task is at work, which nobody here can know.
  return declared?.params?.["mode"] === "window";
}

function followingOf({ connection, view, signal, waker, extras }: Sending, { id }: Task): Following {
  return { connection, view, signal, waker, extras, taskId: id };
}
