/** A send: a repeat, a direct answer, a new task or a follow-up; one flow for the three ways to wait. */
import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { create, equals, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type Message, MessageSchema, StreamResponseSchema, TaskSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Agent, BeginTask } from "../core/agent.ts";
import { BoundedSignal } from "../core/bounded-signal.ts";
import { TaskError, taskNotFound } from "../core/errors.ts";
import { headAfter, type Snapshot } from "../core/fold.ts";
import { type Entry, newMark } from "../core/log-entry.ts";
import type { Current } from "../core/snapshots.ts";
import type { CreateReply, CreateRequest, Repeat, RepeatKey } from "../core/storage.ts";
import { uuidv7, uuidv8 } from "../core/uuid.ts";
import { completeMemo, completeMessage } from "../worker/agent-response.ts";
import { detached } from "../worker/detached.ts";
import { tellCanceled } from "../worker/tell-canceled.ts";
import { foldOf } from "../worker/worker.ts";
import { FollowUps } from "./follow-up.ts";
import { shareTaskFrame } from "./frames.ts";
import { requirePush } from "./push-configs.ts";
import { repeatDigest, repeatKey } from "./repeats.ts";
import { RunningTurns } from "./running-turns.ts";
import { checkMessageBytes, commandEntry, pushOf, type Send, type SendInit, tooLarge } from "./send.ts";
import { badResume, type Resume } from "./log-extension.ts";
import { callDrained } from "./streams.ts";
import { checkMediaTypes, validateSend } from "./validate.ts";

/** What a send led to. `first` is the stream's first frame; a `repeat` of an earlier send sees the task as it is now. */
export type Sent =
  | { readonly is: "message"; readonly message: Message }
  | { readonly is: "task"; readonly first: Snapshot; readonly repeat: boolean }
  | { readonly is: "resumed"; readonly current: Current };

/** Carries out sends. */
export class SendFlow {
  readonly #init: SendInit;
  readonly #followUps: FollowUps;
  readonly #turns: RunningTurns;

  constructor(init: SendInit) {
    this.#init = init;
    this.#turns = new RunningTurns(init.storage, init.options.limits.turnsPerPrincipal);
    this.#followUps = new FollowUps(init, this.#turns);
  }

  /** Stores what the send asks for, then answers. Nothing is answered that was not stored. */
  async send(send: Send): Promise<Sent> {
    const { options, card, storage, worker } = this.#init;
    const { request, caller } = send;
    const message = validateSend(request, this.#init);
    if (request.configuration?.taskPushNotificationConfig !== undefined) requirePush(options);
    if (send.resume !== undefined) return this.#resumed(send, message, send.resume);
    const digest = repeatDigest(caller, message);
    const key = repeatKey(digest, message.taskId, options);
    const repeat = key && (await storage.findRepeat(key));
    if (repeat !== undefined) return this.#repeated(repeat);
    if (worker.state !== "serving" && !storage.shared) throw callDrained(message.taskId);
    if (message.taskId !== "") return this.#followUp(send, message, key);
    checkMediaTypes(card, message, request.configuration?.acceptedOutputModes ?? []);
    const contextId = message.contextId || this.#newContext(key);
    const begin = (memo: JsonObject | undefined): Promise<Sent> => this.#create({ send, message, contextId, digest, key, memo });
    const reply = await this.#reply(send, message, contextId, begin);
    if (reply !== undefined && "message" in reply) return { is: "message", ...reply };
    return begin(reply?.memo);
  }

  /**
   * The context of a send that names none. An agent that may begin its work elsewhere, before its task is stored, is asked again on
   * another replica if this one dies: in the same context then, or it could not know the repeat for what it is.
   */
  #newContext(key: RepeatKey | undefined): string {
    if (key === undefined || this.#init.agent.reply === undefined) return uuidv7(Date.now());
    return uuidv8(createHash("sha256").update(`context:${key.key}`).digest());
  }

  async #followUp(send: Send, message: Message, key: RepeatKey | undefined): Promise<Sent> {
    const outcome = await this.#followUps.append(send, message, key);
    return "repeat" in outcome ? this.#repeated(outcome.repeat) : { is: "task", first: outcome.first, repeat: false };
  }

  /** A send that says where its reader stood never starts work: it goes on with the task that the message belongs to. */
  async #resumed({ caller }: Send, message: Message, { taskId }: Resume): Promise<Sent> {
    const current = await this.#init.snapshots.current(taskId, caller);
    if (current === undefined) throw taskNotFound(taskId);
    const { contextId } = current.meta;
    const sent = { ...message, taskId, contextId };
    const elsewhere = (message.taskId !== "" && message.taskId !== taskId) || (message.contextId !== "" && message.contextId !== contextId);
    const own =
      !elsewhere &&
      current.snapshot.task.history.some(
        (one) => one.messageId === message.messageId && equals(MessageSchema, { ...one, taskId, contextId }, sent),
      );
    if (!own) throw badResume("names a task that this message is not part of; leave it out to send the message");
    return { is: "resumed", current };
  }

  async #repeated({ taskId }: Repeat): Promise<Sent & { readonly is: "task" }> {
    return { is: "task", first: await this.#init.snapshots.read(taskId), repeat: true };
  }

  async #create({ send, message, contextId, digest, key, memo }: NewTask): Promise<Sent> {
    const { storage, worker, options } = this.#init;
    const id = storage.newId(digest);
    const task = create(TaskSchema, {
      id,
      contextId,
      status: { state: TaskState.SUBMITTED, timestamp: timestampFromMs(Date.now()) },
      history: [{ ...message, taskId: id, contextId }],
    });
    const event = create(StreamResponseSchema, { payload: { case: "task", value: task } });
    const bytes = toBinary(StreamResponseSchema, event);
    const start = commandEntry("start", send, message, memo);
    /** What the agent has begun for this send is of no use. */
    const drop = (): void => {
      if (memo !== undefined) tellCanceled(this.#init, { taskId: id, contextId, begun: false, memo, command: start.content });
    };
    try {
      if (bytes.length > options.maxTaskBytes) throw tooLarge(options);
      checkMessageBytes(message, start, options);
      await this.#turns.begin(send.caller);
    } catch (error) {
      drop();
      throw error;
    }
    const entries = [{ kind: "event", mark: newMark(), bytes, content: event } as const, start];
    const place = worker.reserve();
    const lease = place && { token: place.token, replica: place.replica };
    const request = {
      id,
      scope: { tenant: send.caller.tenant, owner: send.caller.owner },
      contextId,
      entries,
      head: headAfter(task, []),
      repeat: key,
      lease,
      push: pushOf(send, id, this.#init),
    };
    const late = async (): Promise<boolean> => {
      // Only where it was carried out: no task begins after its sender has heard that the send failed.
      if ((await storage.meta(id)) === undefined) return false;
      await this.#begin(request);
      return true;
    };
    const reply = await worker
      .using(place, () => this.#begin(request), late)
      .catch((error: unknown) => {
        if (!(error instanceof TaskError && error.outcomeUnknown)) drop();
        throw error;
      });
    if (reply.is === "repeat") {
      const sent = await this.#repeated(reply.repeat);
      // Unless it is what it began for the first one.
      if (canonicalize(sent.first.memo) !== canonicalize(memo)) drop();
      return sent;
    }
    if (reply.lease === undefined) worker.wake();
    shareTaskFrame(event, bytes);
    const { offset, mark } = reply.entries.at(-1) as Entry;
    return { is: "task", first: { task, position: { offset, mark }, memo }, repeat: false };
  }

  /** Creates the task and begins its first turn where it came with the lease. */
  async #begin(request: CreateRequest): Promise<CreateReply> {
    const { storage, worker, options } = this.#init;
    const reply = await storage.create(request);
    if (reply.is === "created" && reply.lease !== undefined) {
      const fold = foldOf(reply.entries, options.historyLimit);
      worker.adopt({ lease: reply.lease, fold, consumed: 0, attempts: 1, cancelRequested: false });
    }
    return reply;
  }

  /** Asks an agent that sometimes answers directly. Its answer is in no log (docs/agents.md, Direct replies). */
  async #reply(
    { request, caller, signal, extensions, headers, trace }: Send,
    message: Message,
    contextId: string,
    begin: (memo: JsonObject) => Promise<Sent>,
  ): Promise<{ readonly message: Message } | BeginTask | undefined> {
    const { agent, options } = this.#init;
    if (agent.reply === undefined) return undefined;
    using bounded = new BoundedSignal(signal, options.replyTimeoutMs);
    const over = bounded.signal;
    const asked = agent.reply({
      ...caller,
      message,
      signal: over,
      metadata: request.metadata,
      acceptedOutputModes: request.configuration?.acceptedOutputModes ?? [],
      extensions,
      headers,
      trace,
      contextId,
      memoOf: async (id) => (await this.#init.snapshots.current(id, caller))?.snapshot.memo,
    });
    const answer = await untilAborted(asked, over, () => {
      this.#beginLate(asked, begin).catch((error: unknown) =>
        this.#init.log.info({ error }, "a send that nobody waits for did not become a task"),
      );
      if (bounded.late)
        return new TaskError("DEADLINE_EXCEEDED", `the agent did not decide within ${options.replyTimeoutMs} ms how to answer`);
      return signal.reason;
    });
    if (answer === undefined) return undefined;
    if ("memo" in answer) return { memo: completeMemo(answer.memo) };
    return { message: completeMessage(detached(MessageSchema, answer), contextId, "") };
  }

  /** What the agent has begun meanwhile is a task of its caller, who will look for it. */
  async #beginLate(asked: ReturnType<NonNullable<Agent["reply"]>>, begin: (memo: JsonObject) => Promise<Sent>): Promise<void> {
    const late = await asked;
    if (late !== undefined && "memo" in late) await begin(completeMemo(late.memo));
  }
}

/** A task about to begin. */
interface NewTask {
  readonly send: Send;
  readonly message: Message;
  readonly contextId: string;
  readonly digest: string;
  readonly key: RepeatKey | undefined;
  readonly memo: JsonObject | undefined;
}

/** Settles as `promise` does, or rejects when the signal aborts. */
async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal, reason: () => unknown): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(reason());
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
