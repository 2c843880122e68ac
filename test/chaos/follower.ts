/** A reader of one task over as many connections as it takes: it is cut off, or goes, and comes back to any replica over any binding. */
import type { StreamResponse } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Position } from "../../src/core/log-entry.ts";
import { isTerminal, stateAfter } from "../../src/core/task.ts";
import type { Stream } from "../bindings/callers/caller.ts";
import { type Clients, type Connection, outcomeOf } from "./clients.ts";
import { logHeaders, positioned } from "./position.ts";
import type { Random } from "./random.ts";

/** A frame as it came. */
export interface SeenFrame {
  readonly response: StreamResponse;
  readonly position: Position;
  /** Which of the follower's visits it came on. */
  readonly visit: number;
  /** By the clock of this machine. */
  readonly at: number;
}

/** One connection of a follower. */
export interface Visit {
  readonly replica: string;
  readonly binding: string;
  /** Whether it asked for what follows a position, and for which. */
  readonly from: Position | undefined;
  /** When the request went out, and when the connection was over. */
  readonly opened: number;
  closed: number;
  /** Why it was over. */
  end: string;
}

/** What a follower has in the end. */
export interface Followed {
  readonly taskId: string;
  readonly frames: readonly SeenFrame[];
  readonly visits: readonly Visit[];
  /** `ended`: it saw the terminal event. `refused`: it was told that the task is over. `missing`: that there is no such task. */
  readonly state: "open" | "ended" | "refused" | "missing";
}

/** How a follower may be given up. */
interface Goal {
  readonly has: (position: Position) => boolean;
  readonly reached: () => void;
}

/** Follows a task until it ends, or {@link settle} is satisfied. */
export class Follower implements Followed {
  readonly taskId: string;
  readonly frames: SeenFrame[] = [];
  readonly visits: Visit[] = [];
  readonly #clients: Clients;
  readonly #random: Random;
  #state: Followed["state"] = "open";
  #goal: Goal | undefined;
  #calm = false;
  #stopped = false;
  #stream: Stream | undefined;
  /** Resolves when it reads no more. */
  readonly done: Promise<void>;

  /** `opened`: a stream that a send has opened, with its first frame. */
  constructor(clients: Clients, random: Random, taskId: string, opened?: OpenedStream) {
    this.#clients = clients;
    this.#random = random;
    this.taskId = taskId;
    this.done = this.#run(opened);
  }

  get state(): Followed["state"] {
    return this.#state;
  }

  /** From now on it goes only where it must, and it is done when it has reached a place where it has all. */
  settle(has: (position: Position) => boolean): Promise<void> {
    this.#calm = true;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#goal = { has, reached: resolve };
    this.#look();
    return Promise.race([promise, this.done]);
  }

  /** Leaves. */
  stop(): void {
    this.#stopped = true;
    this.#stream?.leave();
  }

  async #run(opened: OpenedStream | undefined): Promise<void> {
    try {
      if (opened !== undefined) await this.#read(opened.stream, opened.connection, undefined, opened);
      for (let failures = 0; this.#state === "open" && !this.#stopped; failures += 1) {
        await this.#clients.pause(this.#random, failures);
        if (await this.#visit()) failures = 0;
      }
    } catch (error) {
      // The run is over: what it has is what it has seen.
      if (!(error instanceof Error && error.name === "AbortError")) throw error;
    }
  }

  /** One connection. Answers whether anything came. */
  async #visit(): Promise<boolean> {
    const last = this.frames.at(-1)?.position;
    // Told that the task is over, it asks for what it has missed.
    const from = last !== undefined && (this.#asksForRest || this.#random.chance(0.6)) ? last : undefined;
    const headers = logHeaders(from && { taskId: this.taskId, position: from });
    const { stream, connection } = await this.#clients.stream(this.#random, "SubscribeToTask", { id: this.taskId }, headers);
    return this.#read(stream, connection, from);
  }

  get #asksForRest(): boolean {
    return this.visits.at(-1)?.end === "UNSUPPORTED_OPERATION";
  }

  async #read(stream: Stream, { caller, endpoint }: Connection, from: Position | undefined, opened?: OpenedStream): Promise<boolean> {
    const visit: Visit = {
      replica: endpoint.replica,
      binding: caller.binding,
      from,
      opened: opened?.at ?? Date.now(),
      closed: 0,
      end: "closed",
    };
    this.#stream = stream;
    if (this.#stopped) stream.leave();
    const number = this.visits.push(visit) - 1;
    const { length } = this.frames;
    const leaves = this.#random.chance(0.7) ? length + this.#random.between(1, 40) : Infinity;
    // Some leave without having seen anything new.
    const patience = this.#random.chance(0.2) && !this.#calm ? setTimeout(() => stream.leave(), this.#random.between(20, 3000)) : undefined;
    try {
      if (opened !== undefined) this.#see(opened.first, number);
      for await (const frame of stream) {
        this.#see(frame, number);
        if (!this.#calm && this.frames.length >= leaves) visit.end = "left";
        if (visit.end === "left" || this.#state !== "open") break;
      }
    } catch (error) {
      this.#failed(error, visit);
    } finally {
      clearTimeout(patience);
      stream.leave();
      visit.closed = Date.now();
    }
    return this.frames.length > length;
  }

  #see(frame: StreamResponse, visit: number): void {
    const seen = { ...positioned(frame), visit, at: Date.now() };
    this.frames.push(seen);
    const state = stateAfter(seen.response);
    if (state !== undefined && isTerminal(state)) this.#state = "ended";
    this.#look();
  }

  #failed(error: unknown, visit: Visit): void {
    const outcome = outcomeOf(error);
    visit.end = outcome.is === "refused" ? outcome.reason : `away: ${error instanceof Error ? error.message : String(error)}`;
    if (outcome.is === "away") return;
    if (outcome.reason === "TASK_NOT_FOUND") this.#state = "missing";
    // Where it came with its place, or has none, there is nothing to be had any more.
    else if (outcome.reason !== "UNSUPPORTED_OPERATION" || visit.from !== undefined || this.frames.length === 0) this.#state = "refused";
  }

  #look(): void {
    const last = this.frames.at(-1)?.position;
    if (this.#goal === undefined || last === undefined || !this.#goal.has(last)) return;
    this.#goal.reached();
  }
}

/** A stream that is open already. */
export interface OpenedStream {
  readonly stream: Stream;
  readonly connection: Connection;
  readonly first: StreamResponse;
  /** When its request went out. */
  readonly at: number;
}
