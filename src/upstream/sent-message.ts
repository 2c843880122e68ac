/** The message that the upstream is to work on, and how far it has got. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { Message, Task } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Turn } from "../core/agent.ts";
import { statusTimeOf } from "../core/fold.ts";
import { findTask, Untold } from "./find-task.ts";
import { messageDigest, upstreamId } from "./own-message.ts";
import type { UpstreamAgent } from "./upstream-agent.ts";
import { fromMemo, toMemo, type UpstreamMemo } from "./upstream-memo.ts";

/** One message at a time; the upstream's task stays the same from one to the next. */
export class SentMessage {
  readonly #agent: UpstreamAgent;
  readonly #turn: Turn;
  #message: Message;
  #digest: string;
  #upstream: UpstreamMemo | undefined;
  /** Whether the upstream has it. `maybe`: it was sent, by this replica or by one before it, and nobody has heard what became of it. */
  reached: "no" | "maybe" | "yes";

  /** The message of a turn. */
  constructor(agent: UpstreamAgent, turn: Turn) {
    this.#agent = agent;
    this.#turn = turn;
    this.#message = turn.message;
    this.#digest = messageDigest(turn.message);
    this.#upstream = fromMemo(turn.memo);
    const same = this.#upstream?.message === this.#digest;
    // The answer to a question is sent by its turn only.
    if (same && (this.begins || turn.resumed)) this.reached = this.#upstream?.taskId === "" ? "maybe" : "yes";
    else this.reached = turn.resumed ? "maybe" : "no";
  }

  get message(): Message {
    return this.#message;
  }

  get digest(): string {
    return this.#digest;
  }

  /** Whether it began the task. */
  get begins(): boolean {
    return this.#message.taskId === "";
  }

  /** The upstream's task that it goes on with. */
  get on(): UpstreamMemo | undefined {
    return this.#upstream?.taskId === "" ? undefined : this.#upstream;
  }

  /** Whether it is known that this task of the upstream has it. */
  isWith(taskId: string): boolean {
    return this.reached === "yes" && this.#upstream?.taskId === taskId;
  }

  /** The next message takes its place. */
  replace(message: Message): void {
    this.#message = message;
    this.#digest = messageDigest(message);
    this.reached = "no";
  }

  /** The upstream has lost its task: it is to begin another. */
  forget(): void {
    this.#upstream = undefined;
    this.reached = "no";
  }

  /** A task of the upstream has it. Answers the memo that says so, where none has said it yet. */
  arrived(taskId: string, contextId: string): JsonObject | undefined {
    this.reached = "yes";
    const known = this.#upstream?.taskId === taskId && this.#upstream.message === this.#digest;
    this.#upstream = this.memo(taskId, contextId);
    return known ? undefined : toMemo(this.#upstream);
  }

  /** What there is to know of it, with the upstream's task or without one. */
  memo(taskId = "", contextId = ""): UpstreamMemo {
    return {
      taskId,
      contextId: contextId || this.#upstream?.contextId || upstreamId(this.#turn.contextId, this.#turn),
      messageId: upstreamId(this.#message.messageId, this.#turn),
      message: this.#digest,
    };
  }

  /** The upstream's task that has it; undefined where it is to be sent. Throws as {@link findTask}. */
  async find(signal: AbortSignal): Promise<Task | undefined> {
    const { client, options } = this.#agent;
    const { messageId } = this.memo();
    const sought = {
      client,
      messageId,
      contextId: upstreamId(this.#turn.contextId, this.#turn),
      taskId: this.on?.taskId ?? "",
      // It brought the task into its state; the upstream's news came later.
      sentAt: statusTimeOf(this.#turn.task),
      options,
      extras: { ...this.#agent.extrasOf(this.#turn), signal },
    };
    try {
      return await findTask(sought);
    } catch (error) {
      if (error instanceof Untold && options.lost === "rerun") return undefined;
      throw error;
    }
  }
}
