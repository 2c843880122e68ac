/** Checks what a follower saw of a task whose store may lose what it had: it is told of that, by the task, and never led into another history. */
import { equals } from "@bufbuild/protobuf";
import { StreamResponseSchema, type Task, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type Entry, formatPosition, samePosition } from "../../src/core/log-entry.ts";
import { CLOCK_MS, type FollowerVerdict } from "./check-follower.ts";
import type { Finding, FindingKind } from "./finding.ts";
import { foldUpTo } from "./folds.ts";
import type { Followed, SeenFrame } from "./follower.ts";

/** What the log of a task has been. */
export interface Histories {
  /** What it is in the end. */
  readonly last: readonly Entry[];
  /** What stood in servers that were replaced, when they were. */
  readonly before: readonly (readonly Entry[])[];
}

/** Checks it. `vanished` are the events that the follower saw and that the log does not have in their place. */
export function checkRewound(follower: Followed, histories: Histories): FollowerVerdict {
  const reading = new RewoundReading(follower, histories);
  for (const frame of follower.frames) reading.read(frame);
  reading.end();
  const vanished = follower.frames.filter(({ response, position }) => response.payload.case !== "task" && !holds(histories.last, position));
  return { found: reading.found, vanished: vanished.map(({ position }) => formatPosition(position)) };
}

function holds(history: readonly Entry[], position: SeenFrame["position"]): boolean {
  const entry = history[position.offset - 1];
  return entry !== undefined && samePosition(entry, position);
}

class RewoundReading {
  readonly found: Finding[] = [];
  readonly #follower: Followed;
  readonly #histories: Histories;
  readonly #all: readonly (readonly Entry[])[];
  #last: SeenFrame | undefined;

  constructor(follower: Followed, histories: Histories) {
    this.#follower = follower;
    this.#histories = histories;
    this.#all = [histories.last, ...histories.before];
  }

  read(frame: SeenFrame): void {
    const { response, position, at, visit } = frame;
    const homes = this.#all.filter((history) => holds(history, position));
    const place = `${formatPosition(position)} on visit ${visit}`;
    const entry = homes[0]?.[position.offset - 1];
    if (entry === undefined) this.#say("broken", `2: ${place} stood in no log that a master has had`);
    else if (at < entry.time - CLOCK_MS) this.#say("broken", `2: ${place} came ${entry.time - at} ms before it was stored`);
    if (response.payload.case === "task") this.#snapshot(response.payload.value, frame, homes, place);
    else {
      const same = entry?.kind === "event" && equals(StreamResponseSchema, response, entry.event);
      if (entry !== undefined && !same) this.#say("broken", `1: ${place} is not what the log has`);
      this.#event(frame, homes, place);
    }
    this.#last = frame;
  }

  #snapshot(task: Task, { position, visit }: SeenFrame, homes: readonly (readonly Entry[])[], place: string): void {
    const is = homes.some((history) => equals(TaskSchema, task, foldUpTo(history, position.offset)));
    if (homes.length > 0 && !is) this.#say("broken", `5: the task at ${place} is not the fold of the log`);
    const last = this.#last;
    if (last === undefined) return;
    if (samePosition(last.position, position) && last.visit === visit) this.#say("doubled", `the task at ${place} again`);
    // It may be behind what was seen: a log that was short for a while, and whole again since, has given that task in good faith.
  }

  #event({ position }: SeenFrame, homes: readonly (readonly Entry[])[], place: string): void {
    const last = this.#last;
    if (last === undefined) return this.#say("broken", `2: ${place} came first, without a task before it`);
    const before = formatPosition(last.position);
    const common = homes.find((history) => holds(history, last.position));
    if (common === undefined) {
      if (homes.length > 0) this.#say("broken", `2: after ${before}, which is another history's, came ${place} without a task before it`);
      return;
    }
    if (position.offset === last.position.offset) this.#say("doubled", `the event at ${place} again`);
    else if (position.offset < last.position.offset) this.#say("reordered", `the event at ${place} after ${before}`);
    const missed = common.slice(last.position.offset, position.offset - 1).filter(({ kind }) => kind === "event");
    for (const { offset, mark } of missed) this.#say("lost", `the event at ${offset}.${mark} never came; the next was ${place}`);
  }

  /** It ends where the log ends, or knows why not. */
  end(): void {
    const { state, visits, frames } = this.#follower;
    const reason = visits.at(-1)?.end;
    const { last: log } = this.#histories;
    if (state === "refused" && reason !== "UNSUPPORTED_OPERATION") this.#say("broken", `it was refused: ${reason}`);
    // It saw the end of the task. Where that is lost, the task may have gone on.
    if (state === "ended") return;
    if (log.length === 0) {
      if (state === "open") this.#say("broken", "the task is gone, and its stream or its coming back to it hangs");
      return;
    }
    // Where two servers take themselves for the master for a while, one of them may not know it.
    if (state === "missing") return;
    const last = frames.at(-1)?.position;
    if (last === undefined) {
      if (state === "open") this.#say("lost", "nothing ever came");
      return;
    }
    // An end that it was told of and that is lost since.
    if (state === "refused" && !holds(log, last)) return;
    if (!holds(log, last)) return this.#say("broken", `2: it was never told that ${formatPosition(last)} is lost`);
    const missed = log.slice(last.offset).filter(({ kind }) => kind === "event");
    for (const { offset, mark } of missed)
      this.#say("lost", `the event at ${offset}.${mark} never came, nor anything after ${formatPosition(last)}`);
  }

  #say(kind: FindingKind, what: string): void {
    this.found.push({ kind, taskId: this.#follower.taskId, what });
  }
}
