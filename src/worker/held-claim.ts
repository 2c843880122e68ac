/** A claim as its holder knows it: with the time until which nobody else can have it. */
import type { DeliveryClaim } from "../core/deliveries.ts";
import { scopeKey } from "../core/scope.ts";
import type { Storage } from "../core/storage.ts";

/** A claim of this replica. */
export class HeldClaim implements DeliveryClaim {
  readonly taskId: string;
  readonly token: string;
  readonly #leaseMs: number;
  #until: number;
  #owner: string | undefined;

  /** `asked`: performance.now() when it was asked for, or prolonged: the store has counted from then on, or later. */
  constructor({ taskId, token }: DeliveryClaim, leaseMs: number, asked: number) {
    this.taskId = taskId;
    this.token = token;
    this.#leaseMs = leaseMs;
    this.#until = asked + leaseMs;
  }

  prolonged(asked: number): void {
    this.#until = asked + this.#leaseMs;
  }

  /** Whose task it is; nobody's where there is none any more. The store is asked once. */
  async owner(storage: Storage): Promise<string> {
    if (this.#owner === undefined) {
      const meta = await storage.meta(this.taskId);
      this.#owner = meta === undefined ? "" : scopeKey(meta.scope);
    }
    return this.#owner;
  }

  /** Whether it holds for certain. A process that was paused finds here that it may be another's by now. */
  get isHeld(): boolean {
    return performance.now() < this.#until;
  }
}
