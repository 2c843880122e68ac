import type { Link } from "./link.ts";
import { unavailable } from "./store-error.ts";
import type { Wire } from "./wire.ts";

/** The command that waits until a write is safe, and how many must have it. */
export interface Confirmation {
  readonly command: "WAIT" | "WAITAOF";
  readonly replicas: number;
  /** How long the server waits, in milliseconds. */
  readonly timeoutMs: number;
}

/** Who waits for one WAIT, and the connection whose writes it is to cover. */
interface Group extends PromiseWithResolvers<void> {
  readonly wire: Wire;
}

/** Group commit over the writer connection: one WAIT is in flight, and it covers every write that was answered before it was sent. */
export class Confirmer {
  readonly #writer: Link;
  readonly #confirmation: Confirmation;
  #written: Wire | undefined;
  #flying = false;
  #next: Group | undefined;

  constructor(writer: Link, confirmation: Confirmation) {
    this.#writer = writer;
    this.#confirmation = confirmation;
  }

  /** Notes that a write was answered on this connection: WAIT knows of no other connection's writes. */
  wrote(wire: Wire | undefined): void {
    this.#written = wire;
  }

  /** Resolves when the writes answered so far on the live connection are safe; otherwise rejects with an unknown outcome. */
  confirmed(epoch?: number): Promise<void> {
    const written = this.#written;
    if (written === undefined || written !== this.#writer.wire || (epoch !== undefined && epoch !== written.id)) {
      return Promise.reject(unavailable(new Error("the connection that wrote is gone"), "unknown"));
    }
    if (this.#next?.wire !== written) {
      this.#next?.reject(unavailable(new Error("the connection that wrote is gone"), "unknown"));
      this.#next = { ...Promise.withResolvers<void>(), wire: written };
    }
    const { promise } = this.#next;
    if (!this.#flying) void this.#fly();
    return promise;
  }

  async #fly(): Promise<void> {
    this.#flying = true;
    while (this.#next !== undefined) {
      const group = this.#next;
      this.#next = undefined;
      try {
        await this.#wait(group.wire);
        group.resolve();
      } catch (error) {
        group.reject(error);
      }
    }
    this.#flying = false;
  }

  async #wait(wire: Wire): Promise<void> {
    const { command, replicas, timeoutMs } = this.#confirmation;
    let confirmed: number;
    try {
      // On the connection that wrote: another one would say yes to anything.
      const reply = await wire.send(command, command === "WAIT" ? [replicas, timeoutMs] : [1, 0, timeoutMs]);
      confirmed = Number(Array.isArray(reply) ? reply[0] : reply);
    } catch (error) {
      throw unavailable(error, "unknown");
    }
    const needed = command === "WAIT" ? replicas : 1;
    if (confirmed < needed) throw unavailable(new Error(`${command}: ${confirmed} of ${needed} confirmed in ${timeoutMs} ms`), "unknown");
  }
}
