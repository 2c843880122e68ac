/** What those who watch over a process are told of it. */
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { HealthOf } from "../bindings/grpc/health.ts";

/** Time between two looks whether the store is away. */
const LOOK_MS = 250;

/** What the answers are made from. */
interface ProbeFacts {
  readonly state: () => "starting" | "serving" | "draining" | "closed";
  /** Whether the store is likely to answer now. */
  readonly available: () => boolean;
  /** How long the store may be away before calls are no longer welcome. */
  readonly readinessGraceMs: number;
}

/** Why calls are not welcome. */
export type Unready = "starting" | "draining" | "store away";

/**
 * Liveness, start and readiness of one server. Only readiness looks at the store, and not at once: a store that is away for a moment is away
 * for all replicas, and a load balancer that drops them all has nowhere to send what comes next.
 */
export class Probes {
  readonly #facts: ProbeFacts;
  #started = false;
  #awaySince: number | undefined;
  #looking: NodeJS.Timeout | undefined;

  constructor(facts: ProbeFacts) {
    this.#facts = facts;
  }

  /** Begins to look after the store. To be called once everything listens; `stop` ends it. */
  start(): void {
    this.#started = true;
    this.#looking = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#looking);
  }

  /** Always: an event loop that stands answers nobody. */
  live(): boolean {
    return true;
  }

  /** Whether the start is over: the store was found fit, and all ports listen. It stays so. */
  started(): boolean {
    return this.#started;
  }

  ready(): boolean {
    return this.unready() === undefined;
  }

  /** Why calls are not welcome; undefined where they are. */
  unready(): Unready | undefined {
    const state = this.#facts.state();
    if (state === "starting") return "starting";
    if (state !== "serving") return "draining";
    this.#look();
    const { readinessGraceMs } = this.#facts;
    const away = this.#awaySince !== undefined && performance.now() - this.#awaySince >= readinessGraceMs;
    return away ? "store away" : undefined;
  }

  #look(): void {
    if (this.#facts.available()) this.#awaySince = undefined;
    else this.#awaySince ??= performance.now();
  }
}

/**
 * The services of grpc.health.v1: the server and A2A's are as ready as calls are welcome; `liveness` and `startup` are there for the native
 * gRPC probes of Kubernetes, which tell their kind by the name of a service.
 */
export function healthOf(probes: Probes): HealthOf {
  const ready = (): boolean => probes.ready();
  return { "": ready, [A2AService.typeName]: ready, liveness: () => probes.live(), startup: () => probes.started() };
}
