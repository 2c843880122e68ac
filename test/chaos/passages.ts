/** Clients of `throughline/client` on their ways to the replicas, each behind doors of its own that can be cut. */
import { setTimeout as delay } from "node:timers/promises";
import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AClient } from "../../src/client/a2a-client.ts";
import type { ClientBinding, ClientOptionsInput } from "../../src/client/client-options.ts";
import type { Cut } from "../../src/client/come-back.ts";
import { BINDINGS } from "../client/client-bed.ts";
import { resolveCard } from "../client/resolve-card.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";
import { CALL_MS, type Endpoint } from "./clients.ts";
import { WAY_FAULTS } from "./plan.ts";
import type { Random } from "./random.ts";
import { SERVE_OPTIONS } from "./serve-options.ts";

/** Clients of each binding. */
const EACH = 2;
/** Replicas say something once a second; one that stands still says nothing. */
const SILENCE_MS = 4000;
/** Shorter than replicas are silent: what is slow is cut. */
const IDLE_MS = SERVE_OPTIONS.keepaliveMs * 0.6;
const FAULT_MS: readonly [number, number] = [500, SILENCE_MS * 1.5];
/** How long a fault waits for somebody whom it can hit. */
const PATIENCE_MS = 5000;

/** Patient, and in haste: as many attempts as a fault may last. */
const OPTIONS: ClientOptionsInput = {
  attempts: 200,
  connectTimeoutMs: 2000,
  pollIntervalMs: 300,
  reconnect: { attempts: 200, baseMs: 20, maxMs: 1000 },
  silenceMs: SILENCE_MS,
  timeoutMs: CALL_MS,
};

/** One client: it knows two doors, behind each of which every connection goes to any replica, as behind a load balancer. */
export interface Passage {
  readonly binding: ClientBinding;
  readonly client: A2AClient;
  readonly doors: readonly TcpProxy[];
  /** One for each run that is under way: told of each connection that a run of this client has lost. */
  readonly listeners: Set<(cut: Cut) => void>;
}

/** A fault of a way. Answers whether it cut a connection. */
type WayFault = (passage: Passage, random: Random) => Promise<boolean>;

const FAULTS: Readonly<Record<(typeof WAY_FAULTS)[number], WayFault>> = {
  "way reset": async ({ doors }) => {
    for (const door of doors) door.cut();
    return true;
  },
  "way ended": async ({ doors }) => {
    for (const door of doors) door.finish();
    return true;
  },
  "way half-open": async ({ doors }, random) => {
    for (const door of doors) door.halfOpen();
    await delay(random.between(...FAULT_MS));
    await Promise.all(doors.map((door) => door.heal()));
    return true;
  },
  "way idle": async ({ doors }, random) => {
    const idled = (): number => doors.reduce((count, door) => count + door.idled, 0);
    const before = idled();
    for (const door of doors) door.idle(IDLE_MS);
    await delay(random.between(IDLE_MS * 2, FAULT_MS[1]));
    for (const door of doors) door.idle(0);
    return idled() > before;
  },
  // The first door only: the client goes by the other one meanwhile.
  "way restarted": async ({ doors: [door] }, random) => {
    door?.refuse();
    door?.cut();
    await delay(random.between(...FAULT_MS));
    await door?.accept();
    return true;
  },
};

/** All of them. */
export class Passages implements AsyncDisposable {
  /** What can happen on the ways, by name; each answers whether it cut anything. */
  readonly faults: Readonly<Record<string, (random: Random) => Promise<boolean>>>;
  readonly #all: readonly Passage[];
  readonly #disposables: AsyncDisposableStack;
  readonly #busy = new Set<Passage>();

  private constructor(all: readonly Passage[], disposables: AsyncDisposableStack) {
    this.#all = all;
    this.#disposables = disposables;
    this.faults = Object.fromEntries(WAY_FAULTS.map((kind) => [kind, (random: Random) => this.#bring(FAULTS[kind], random)]));
  }

  /** Opens clients of an agent whose replicas are there now and then. */
  static async open(card: AgentCard, endpoints: () => readonly Endpoint[], random: Random): Promise<Passages> {
    await using opened = new AsyncDisposableStack();
    const open = async (binding: ClientBinding, name: string): Promise<Passage> => {
      const chance = random.fork(name);
      const target = {
        get port() {
          const there = endpoints();
          // Nothing listens there.
          return there.length === 0 ? 1 : chance.pick(there)[binding === "GRPC" ? "grpc" : "http"];
        },
      };
      const doors = [opened.use(await TcpProxy.open(target)), opened.use(await TcpProxy.open(target))];
      const cards = doors.map(({ port }) => resolveCard(card, binding, port));
      const [known] = cards as [AgentCard];
      known.supportedInterfaces = cards.flatMap(({ supportedInterfaces }) => supportedInterfaces);
      const listeners = new Set<(cut: Cut) => void>();
      const reconnecting = (cut: Cut): void => listeners.forEach((tell) => tell(cut));
      const client = await A2AClient.connect(known, { ...OPTIONS, bindings: [binding], reconnecting });
      opened.use(client);
      return { binding, client, doors, listeners };
    };
    const names = BINDINGS.flatMap((binding) => Array.from({ length: EACH }, (_, index) => ({ binding, name: `${binding} ${index}` })));
    const all = await Promise.all(names.map(({ binding, name }) => open(binding, name)));
    return new Passages(all, opened.move());
  }

  draw(random: Random): Passage {
    return random.pick(this.#all);
  }

  /** Waits for a client that has runs and a connection and to which nothing is happening, and brings the fault about. */
  async #bring(fault: WayFault, random: Random): Promise<boolean> {
    for (let waited = 0; waited < PATIENCE_MS; waited += 50) {
      const open = this.#all.filter(({ listeners, doors }) => listeners.size > 0 && doors.some(({ connections }) => connections > 0));
      const calm = open.filter((passage) => !this.#busy.has(passage));
      if (calm.length === 0) {
        await delay(50);
        continue;
      }
      const passage = random.pick(calm);
      this.#busy.add(passage);
      try {
        return await fault(passage, random);
      } finally {
        this.#busy.delete(passage);
      }
    }
    return false;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#disposables.disposeAsync();
  }
}
