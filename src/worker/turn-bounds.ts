/** What a turn may yield and how long it may take; what goes beyond ends its task FAILED with the cause. */
import type { StreamResponse, Task } from "../../gen/lf/a2a/v1/a2a_pb.ts";

/** Bounds of a turn. Defaults stand in server/limit-options. */
export interface TurnLimits {
  /** How long a turn may work, in milliseconds; what it waits for its caller does not count. 0: for ever. */
  readonly maxTurnMs: number;
  /** Encoded bytes of one event. */
  readonly eventBytes: number;
  readonly partsPerMessage: number;
  /** All parts of an artifact, whatever chunks they came in. */
  readonly partsPerArtifact: number;
  readonly artifactsPerTask: number;
}

/** A turn went beyond a bound; the message is fit for callers. */
export class BoundExceeded extends Error {
  override readonly name = "BoundExceeded";
}

/** Counts what the turns of a task yield. */
export class ArtifactCount {
  readonly #limits: TurnLimits;
  readonly #parts: Map<string, number>;

  /** `task` is as it stands before the turn. */
  constructor(limits: TurnLimits, task: Task) {
    this.#limits = limits;
    this.#parts = new Map(task.artifacts.map(({ artifactId, parts }) => [artifactId, parts.length]));
  }

  /** Counts an event that is about to be written. Throws {@link BoundExceeded}. */
  add({ payload }: StreamResponse): void {
    const { partsPerMessage, partsPerArtifact, artifactsPerTask } = this.#limits;
    if (payload.case === "statusUpdate" && (payload.value.status?.message?.parts.length ?? 0) > partsPerMessage)
      throw new BoundExceeded(`a message would have more than ${partsPerMessage} parts`);
    if (payload.case !== "artifactUpdate") return;
    const { artifact, append } = payload.value;
    const id = artifact?.artifactId ?? "";
    const before = this.#parts.get(id);
    const parts = (append ? (before ?? 0) : 0) + (artifact?.parts.length ?? 0);
    if (parts > partsPerArtifact) throw new BoundExceeded(`an artifact would have more than ${partsPerArtifact} parts`);
    if (before === undefined && this.#parts.size >= artifactsPerTask)
      throw new BoundExceeded(`the task would have more than ${artifactsPerTask} artifacts`);
    this.#parts.set(id, parts);
  }
}

/** Measures how long a turn works. */
export class TurnClock {
  readonly #limitMs: number;
  readonly #over: () => void;
  #spentMs = 0;
  #since = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Calls `over` once the turn has worked for `limitMs`; never for 0. Stands until it is told to run. */
  constructor(limitMs: number, over: () => void) {
    this.#limitMs = limitMs;
    this.#over = over;
  }

  run(): void {
    if (this.#limitMs === 0 || this.#timer !== undefined) return;
    this.#since = performance.now();
    this.#timer = setTimeout(this.#over, Math.max(0, this.#limitMs - this.#spentMs));
  }

  stop(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#spentMs += performance.now() - this.#since;
  }
}
