/** Carries out a plan of faults. */
import { setTimeout as delay } from "node:timers/promises";
import type { FaultTarget, Fleet, Replica } from "./fleet.ts";
import type { PlannedFault } from "./plan.ts";
import type { Random } from "./random.ts";
import { SERVE_OPTIONS } from "./serve-options.ts";
import type { ChaosStore } from "./store.ts";

/** A fault that was carried out. */
export interface DoneFault {
  readonly kind: string;
  /** The replica; empty where it was the store or a way. */
  readonly on: string;
  readonly from: number;
  readonly to: number;
}

/** Longer than a lease lasts: whoever stood still so long has lost what it owned. */
const FREEZE_MS: readonly [number, number] = [SERVE_OPTIONS.leaseMs + 500, SERVE_OPTIONS.leaseMs * 2];
/** Around the length of a lease: some owners find theirs expired, some taken. */
const LINK_MS: readonly [number, number] = [300, SERVE_OPTIONS.leaseMs * 2];
const SLOW_MS: readonly [number, number] = [20, 400];

/** What can happen besides, by name; each answers whether it found somebody to happen to. */
type OtherFaults = Readonly<Record<string, (random: Random) => Promise<boolean>>>;

type ReplicaFault = (target: FaultTarget, random: Random) => Promise<void>;

const REPLICA: Readonly<Record<string, ReplicaFault>> = {
  kill: async (target) => {
    await target.replica.kill();
    await target.refill();
  },
  freeze: async ({ replica }, random) => {
    replica.freeze?.();
    await delay(random.between(...FREEZE_MS));
    replica.thaw?.();
  },
  // The next one starts while the old one goes, as in a rollout.
  drain: async (target) => {
    target.replica.drain();
    await target.refill();
  },
  cut: ({ replica }) => {
    replica.link?.cut();
    return Promise.resolve();
  },
  block: (target, random) => linkFault(target, random, (link) => link.block()),
  delay: (target, random) => linkFault(target, random, (link) => link.delay?.(random.between(...SLOW_MS))),
  "half-open": (target, random) => linkFault(target, random, (link) => link.swallow?.()),
  "drop reply": async ({ replica: { link } }) => {
    await link?.dropReply?.();
    await link?.heal();
  },
};

async function linkFault({ replica }: FaultTarget, random: Random, begin: (link: NonNullable<Replica["link"]>) => void): Promise<void> {
  const { link } = replica;
  if (link === undefined) return;
  begin(link);
  await delay(random.between(...LINK_MS));
  await link.heal();
}

/** Brings the plan about. */
export class Faults {
  readonly done: DoneFault[] = [];
  /** Faults for which there was nobody, as everybody had one already. */
  skipped = 0;
  readonly #fleet: Fleet;
  readonly #store: ChaosStore;
  readonly #random: Random;
  readonly #others: OtherFaults;
  #storeBusy = false;

  constructor(fleet: Fleet, store: ChaosStore, random: Random, others: OtherFaults = {}) {
    this.#fleet = fleet;
    this.#store = store;
    this.#random = random;
    this.#others = others;
  }

  /** Resolves when there is to be no more and the last fault is over. Rejects where one could not be brought about or ended. */
  async run(plan: Iterable<PlannedFault>, more: (fault: PlannedFault) => boolean, over: AbortSignal): Promise<void> {
    const begun = performance.now();
    const going: Promise<void>[] = [];
    for (const fault of plan) {
      if (!more(fault)) break;
      const wait = begun + fault.at - performance.now();
      if (wait > 0) await delay(wait, undefined, { signal: over });
      const one = this.#bring(fault);
      // It is looked at in the end; until then it is not unhandled.
      one.catch(() => undefined);
      going.push(one);
    }
    await Promise.all(going);
  }

  async #bring({ kind, name }: PlannedFault): Promise<void> {
    const random = this.#random.fork(name);
    const from = Date.now();
    const toStore = this.#store.faults[kind];
    if (toStore !== undefined) {
      if (this.#storeBusy) return this.#skip();
      this.#storeBusy = true;
      await toStore(random);
      this.#storeBusy = false;
      this.done.push({ kind, on: "", from, to: Date.now() });
      return;
    }
    const other = this.#others[kind];
    if (other !== undefined) {
      if (!(await other(random))) return this.#skip();
      this.done.push({ kind, on: "", from, to: Date.now() });
      return;
    }
    const target = this.#fleet.draw(random);
    const toReplica = REPLICA[kind];
    if (target === undefined || toReplica === undefined) return this.#skip();
    using _busy = target;
    await toReplica(target, random);
    this.done.push({ kind, on: target.replica.endpoint.replica, from, to: Date.now() });
  }

  #skip(): void {
    this.skipped += 1;
  }
}
