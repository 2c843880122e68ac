/** Checks what one follower saw against the log of its task. */
import { equals } from "@bufbuild/protobuf";
import { StreamResponseSchema, type Task, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type Entry, formatPosition } from "../../src/core/log-entry.ts";
import { isTerminal, stateOf } from "../../src/core/task.ts";
import type { Finding, FindingKind } from "./finding.ts";
import { Folds } from "./folds.ts";
import type { Followed, SeenFrame } from "./follower.ts";

/** How followers are judged. */
export interface FollowerRules {
  /** Logs are never trimmed: who comes back with its place goes on from there, without the task. */
  readonly whole: boolean;
}

/** What was found, and how many events the follower had seen that the log does not have. */
export interface FollowerVerdict {
  readonly found: readonly Finding[];
  readonly vanished: readonly string[];
}

/** Clocks of Redis and of this process are the same machine's, each rounded. */
export const CLOCK_MS = 2;

/** Every event once, in order, none missing up to the last; snapshots that are the fold of the log; nothing before it was stored. */
export function checkFollower(follower: Followed, entries: readonly Entry[], rules: FollowerRules): FollowerVerdict {
  const reading = new Reading(follower, entries, rules);
  const vanished = follower.frames.filter((frame) => !reading.holds(frame));
  for (const { position } of vanished) reading.say("lost", `it saw ${formatPosition(position)}, which the log does not have`);
  reading.read(follower.frames.filter((frame) => reading.holds(frame)));
  return { found: reading.found, vanished: vanished.map(({ position }) => formatPosition(position)) };
}

class Reading {
  readonly found: Finding[] = [];
  readonly #follower: Followed;
  readonly #entries: readonly Entry[];
  #at = 0;
  #visit = -1;
  readonly #rules: FollowerRules;

  constructor(follower: Followed, entries: readonly Entry[], rules: FollowerRules) {
    this.#rules = rules;
    this.#follower = follower;
    this.#entries = entries;
  }

  say(kind: FindingKind, what: string): void {
    this.found.push({ kind, taskId: this.#follower.taskId, what });
  }

  /** Whether the log has what the frame says it is. */
  holds({ position }: SeenFrame): boolean {
    return this.#entries[position.offset - 1]?.mark === position.mark;
  }

  read(frames: readonly SeenFrame[]): void {
    const folds = new Folds(this.#entries);
    const seen = new Set<number>();
    for (const frame of frames) {
      const { response, position, visit, at } = frame;
      const entry = this.#entries[position.offset - 1] as Entry;
      const place = `${formatPosition(position)} on visit ${visit}`;
      if (at < entry.time - CLOCK_MS) this.say("broken", `2: ${place} came ${entry.time - at} ms before it was stored`);
      if (response.payload.case === "task") {
        this.#snapshot(response.payload.value, frame, folds, place);
      } else {
        this.#event(frame, entry, seen, place);
      }
      this.#visit = visit;
      this.#at = Math.max(this.#at, position.offset);
    }
    this.#end();
  }

  #snapshot(task: Task, { position, visit }: SeenFrame, folds: Folds, place: string): void {
    // A visit that asks for the task gets it as it stands, which may be where the follower stood.
    const fresh = visit !== this.#visit;
    if (position.offset < this.#at) this.say("reordered", `the task at ${place} after ${this.#at}`);
    else if (position.offset === this.#at && !fresh) this.say("doubled", `the task at ${place} again`);
    const asked = this.#follower.visits[visit]?.from;
    if (this.#rules.whole && (!fresh || asked !== undefined)) this.say("broken", `1: the task at ${place} although its place is kept`);
    if (!equals(TaskSchema, task, folds.at(position.offset))) this.say("broken", `5: the task at ${place} is not the fold of the log`);
  }

  #event({ response, position }: SeenFrame, entry: Entry, seen: Set<number>, place: string): void {
    const { offset } = position;
    if (seen.has(offset)) this.say("doubled", `the event at ${place} again`);
    else if (offset <= this.#at) this.say("reordered", `the event at ${place} after ${this.#at}`);
    seen.add(offset);
    this.#missed(this.#at, offset - 1, place);
    if (entry.kind !== "event" || !equals(StreamResponseSchema, response, entry.event))
      this.say("broken", `1: ${place} is not what the log has`);
  }

  /** Says which events between two places never came. */
  #missed(after: number, upTo: number, before: string): void {
    for (const { kind, offset, mark } of this.#entries.slice(after, upTo)) {
      if (kind === "event") this.say("lost", `the event at ${offset}.${mark} never came; the next was ${before}`);
    }
  }

  #end(): void {
    const { state, visits, frames } = this.#follower;
    const reason = visits.at(-1)?.end;
    const last = this.#entries.at(-1);
    const over = last !== undefined && isTerminal(stateOf(new Folds(this.#entries).at(last.offset)));
    if (state === "missing") this.say("lost", "it was told that there is no such task");
    if (state === "refused" && reason !== "UNSUPPORTED_OPERATION") this.say("broken", `it was refused: ${reason}`);
    if (state === "refused" && !over) this.say("broken", "it was told that the task is over, which it is not");
    // Who came when all was over, with nothing in hand, is told to read the task.
    if (state === "refused" && frames.length === 0) return;
    this.#missed(this.#at, this.#entries.length, "nothing");
  }
}
