import { type DialOptions, type Dialed, DialError, dial } from "./dial.ts";
import { type Address, formatAddress } from "./url.ts";

/** The connections of one attempt to start. Those that are not kept end with it. */
export class Dials implements AsyncDisposable {
  readonly #options: DialOptions;
  readonly #signal: AbortSignal;
  readonly #all = new Set<Dialed>();
  readonly #masters = new Map<string, Dialed>();

  constructor(options: DialOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** The connection to the master at this address. Throws DialError. */
  async master(address: Address): Promise<Dialed> {
    const name = formatAddress(address);
    const dialed = this.#masters.get(name) ?? (await dial(address, this.#options, { signal: this.#signal }));
    this.#masters.set(name, dialed);
    this.#all.add(dialed);
    return dialed;
  }

  /** A connection to the first of these addresses that answers, whatever its role. Throws DialError. */
  async any(addresses: readonly [Address, ...Address[]]): Promise<Dialed> {
    let failure = new DialError("wait", "no address was given");
    for (const address of addresses) {
      try {
        const dialed = await dial(address, this.#options, { signal: this.#signal, anyRole: true });
        this.#all.add(dialed);
        return dialed;
      } catch (error) {
        if (!(error instanceof DialError)) throw error;
        failure = error;
      }
    }
    throw failure;
  }

  /** These live on. */
  keep(dialed: Iterable<Dialed>): void {
    for (const each of dialed) this.#all.delete(each);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { wire } of this.#all) wire.destroy();
    await Promise.all([...this.#all].map(({ closed }) => closed));
  }
}
