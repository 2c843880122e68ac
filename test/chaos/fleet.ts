/** The replicas of a run: places that are filled again when their replica has gone. */
import { setTimeout as delay } from "node:timers/promises";
import type { Endpoint } from "./clients.ts";
import type { Random } from "./random.ts";

/** A replica at work. */
export interface Replica {
  readonly endpoint: Endpoint;
  /** Resolves when it is gone, with why where nobody had asked for that. */
  readonly gone: Promise<string | undefined>;
  /** Ends it at once: it has no time to say anything. */
  kill(): Promise<void>;
  /** Asks it to go. */
  drain(): void;
  /** Stops it where it stands; `thaw` lets it go on. Absent where that cannot be done. */
  freeze?(): void;
  thaw?(): void;
  /** The most memory that it has had, in MiB; absent where it has none of its own. */
  memory?(): number;
  /** Its way to the store; absent where nothing can be done to it. */
  readonly link?: StoreLink;
}

/** A replica's way to the store, and what can be done to it. */
export interface StoreLink {
  /** Connections are lost; new ones are taken. */
  cut(): void;
  /** None can be had any more. Until {@link heal}. */
  block(): void;
  delay?(ms: number): void;
  /** Nothing arrives any more, and nobody is told. Until {@link heal}. */
  swallow?(): void;
  /** The reply to the next write is lost, its connection too. Resolves when it has happened or cannot any more. */
  dropReply?(): Promise<void>;
  heal(): Promise<void>;
}

/** Whether the replicas of a place can resume: in every third an older version of the agent is still running, as during a rollout. */
export function isResumable(place: number): boolean {
  return place % 3 !== 2;
}

/** Starts a replica in a place. */
export type StartReplica = (place: number, generation: number) => Promise<Replica>;

const MEASURE_MS = 1000;

/** One place. */
class Place {
  replica: Replica | undefined;
  generation = 0;
  /** A fault is going on here. */
  busy = false;
}

/** All replicas. */
export class Fleet implements AsyncDisposable {
  readonly #start: StartReplica;
  readonly #places: readonly Place[];
  /** What is there and has not gone yet, replicas that drain among it. */
  readonly #running = new Set<Replica>();
  /** Replicas that were not meant to go. */
  readonly crashed: string[] = [];
  started = 0;
  /** The most memory that any of them has had, in MiB. */
  peakMiB = 0;
  readonly #watch: NodeJS.Timeout;
  #closing = false;

  constructor(size: number, start: StartReplica) {
    this.#start = start;
    this.#places = Array.from({ length: size }, () => new Place());
    this.#watch = setInterval(() => this.#measure(), MEASURE_MS);
  }

  #measure(): void {
    for (const replica of this.#running) this.peakMiB = Math.max(this.peakMiB, replica.memory?.() ?? 0);
  }

  /** Fills all places. */
  async open(): Promise<void> {
    await Promise.all(this.#places.map((place) => this.#fill(place)));
  }

  /** Where callers may try: those that are being killed or stand still among them, as nobody tells callers. */
  endpoints(): readonly Endpoint[] {
    return [...this.#running].map(({ endpoint }) => endpoint);
  }

  /** A replica to which nothing is happening; undefined where there is none, or where it is the last. */
  draw(random: Random): FaultTarget | undefined {
    const calm = this.#places.flatMap((place) => (place.busy || place.replica === undefined ? [] : [{ place, replica: place.replica }]));
    if (calm.length < 2) return undefined;
    const { place, replica } = random.pick(calm);
    place.busy = true;
    return {
      replica,
      refill: async () => {
        place.replica = undefined;
        await this.#fill(place);
      },
      [Symbol.dispose]: () => {
        place.busy = false;
      },
    };
  }

  async #fill(place: Place): Promise<void> {
    const index = this.#places.indexOf(place);
    for (let tries = 0; !this.#closing; tries += 1) {
      place.generation += 1;
      try {
        const replica = await this.#start(index, place.generation);
        this.#add(place, replica);
        return;
      } catch (error) {
        // The store may be away at this moment; then the start is refused, as it should be.
        if (tries > 40) throw error;
        await delay(250);
      }
    }
  }

  #add(place: Place, replica: Replica): void {
    this.started += 1;
    place.replica = replica;
    this.#running.add(replica);
    void replica.gone.then((why) => {
      this.#running.delete(replica);
      if (why === undefined) return undefined;
      this.crashed.push(`${replica.endpoint.replica}: ${why}`);
      if (place.replica !== replica) return undefined;
      place.replica = undefined;
      return this.#fill(place);
    });
  }

  /** Resolves when every place is filled and those that were asked to go are gone, at most after `ms`. Answers who is left of them. */
  async calm(ms: number): Promise<readonly string[]> {
    const deadline = performance.now() + ms;
    const leaving = (): Replica[] => [...this.#running].filter((replica) => this.#places.every((place) => place.replica !== replica));
    for (;;) {
      const late = performance.now() > deadline;
      if (late || (leaving().length === 0 && this.#places.every(({ replica }) => replica !== undefined))) {
        return leaving().map(({ endpoint }) => endpoint.replica);
      }
      await Promise.race([delay(200), ...leaving().map(({ gone }) => gone)]);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing = true;
    clearInterval(this.#watch);
    await Promise.all([...this.#running].map((replica) => replica.kill()));
  }
}

/** A replica that a fault is given. Disposed when the fault is over. */
export interface FaultTarget extends Disposable {
  readonly replica: Replica;
  /** Puts another replica in its place. */
  refill(): Promise<void>;
}
