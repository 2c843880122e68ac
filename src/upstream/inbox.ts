/** The caller's next message, waited for beside the upstream's next event. */
import type { Message } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Turn } from "../core/agent.ts";

/** One message at a time: what is not taken yet stays with the server, for the turn that may come after this one. */
export class Inbox {
  readonly #turn: Pick<Turn, "next">;
  #listens = false;
  #message: Message | undefined;
  /** Called when a message comes; one function for as long as somebody waits, not one for each wait. */
  onMessage: (() => void) | undefined;

  constructor(turn: Pick<Turn, "next">) {
    this.#turn = turn;
  }

  /** Whether a message may come. */
  get listens(): boolean {
    return this.#listens;
  }

  /** Begins to wait for a message, unless that has been done. */
  listen(): void {
    if (this.#listens) return;
    this.#listens = true;
    void this.#wait();
  }

  async #wait(): Promise<void> {
    const message = await this.#turn.next();
    // None comes any more: the turn is over, and its signal says so.
    if (message === undefined) return;
    this.#message = message;
    this.onMessage?.();
  }

  /** The message that has come, once. */
  take(): Message | undefined {
    const message = this.#message;
    if (message !== undefined) [this.#message, this.#listens] = [undefined, false];
    return message;
  }
}
