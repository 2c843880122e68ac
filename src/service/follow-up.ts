/** A message on a task that exists (R-012, R-013, R-155, R-156, C-38, C-39). */
import { type Message, TaskSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { invalidArgument, isRefused, TaskError, taskNotFound } from "../core/errors.ts";
import type { Snapshot } from "../core/fold.ts";
import type { Current } from "../core/snapshots.ts";
import type { CommandReply, CommandRequest, Repeat, RepeatKey } from "../core/storage.ts";
import { isInterrupted, isTerminal } from "../core/task.ts";
import { share, wireBytes } from "../rpc/wire-cache.ts";
import { readyStatus } from "./ready-event.ts";
import type { RunningTurns } from "./running-turns.ts";
import { checkMessageBytes, commandEntry, pushOf, type Send, type SendInit, tooLarge } from "./send.ts";
import { checkMediaTypes } from "./validate.ts";

/** Appends follow-ups. */
export class FollowUps {
  readonly #init: SendInit;
  readonly #turns: RunningTurns;

  constructor(init: SendInit, turns: RunningTurns) {
    this.#init = init;
    this.#turns = turns;
  }

  /** Appends the message, and WORKING where the task was interrupted; `first` is the fold of exactly that prefix. */
  async append(send: Send, received: Message, repeat: RepeatKey | undefined): Promise<{ first: Snapshot } | { repeat: Repeat }> {
    const { snapshots, worker, options, card } = this.#init;
    const { taskId } = received;
    const push = pushOf(send, taskId, this.#init);
    let entry: ReturnType<typeof commandEntry> | undefined;
    for (;;) {
      const current = await snapshots.current(taskId, send.caller);
      if (current === undefined) throw taskNotFound(taskId);
      this.#check(current, received);
      checkMediaTypes(card, received, send.request.configuration?.acceptedOutputModes ?? []);
      const { task, position } = current.snapshot;
      const message: Message = { ...received, contextId: task.contextId };
      entry ??= commandEntry("followUp", send, message);
      if (entry.bytes.length + wireBytes(TaskSchema, share(task)).length > options.maxTaskBytes) throw tooLarge(options);
      checkMessageBytes(message, entry, options);
      if (isInterrupted(current.meta.state)) await this.#turns.begin(send.caller);
      const working = isInterrupted(current.meta.state) ? readyStatus(task, TaskState.WORKING, message) : undefined;
      const place = worker.reserve();
      const lease = place && { token: place.token, replica: place.replica };
      try {
        const request = { taskId, entry, what: "message", repeat, after: position, working, canceled: undefined, lease, push } as const;
        const reply = await worker.using(
          place,
          () => this.#command(request),
          () => this.#late(request),
        );
        if (reply.is === "repeat") return { repeat: reply.repeat };
        if (reply.lease === undefined && !reply.owned) worker.wake();
        return { first: await snapshots.upTo(taskId, reply.offset) };
      } catch (error) {
        // STALE: the task has moved on; SEALED: it has ended. Look again and judge anew.
        if (!isRefused(error, "STALE", "SEALED")) throw error;
      }
    }
  }

  /** Appends the message and begins the turn where it brought the lease. */
  async #command(request: CommandRequest): Promise<CommandReply> {
    const { storage, worker } = this.#init;
    const reply = await storage.command(request);
    if (reply.is === "appended" && reply.lease !== undefined) await worker.begin(reply.lease);
    return reply;
  }

  /** What became of a message whose reply was lost: true where there is nothing more to learn. */
  async #late(request: CommandRequest): Promise<boolean> {
    const step = await this.#init.storage.read(request.taskId, request.after);
    if (step.is === "gone") return true;
    if (!step.entries.some(({ mark }) => mark === request.entry.mark)) return false;
    await this.#command(request);
    return true;
  }

  #check({ meta }: Current, message: Message): void {
    const { taskId } = message;
    if (message.contextId !== "" && message.contextId !== meta.contextId) {
      throw invalidArgument({
        field: "message.contextId",
        description: "is not the context of this task; leave it out or name the task's own",
      });
    }
    if (isTerminal(meta.state)) {
      throw new TaskError("UNSUPPORTED_OPERATION", "the task has ended: send a new message in the same context", { metadata: { taskId } });
    }
    if (!isInterrupted(meta.state) && this.#init.agent.acceptsMessages !== true) {
      throw new TaskError("UNSUPPORTED_OPERATION", "this agent takes no messages while it works", { metadata: { taskId } });
    }
  }
}
