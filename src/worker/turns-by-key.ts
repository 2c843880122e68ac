/** So many at once of each kind: of one host, of one owner. */
import { Turns } from "../core/turns.ts";

/** Turns that are told apart by a key. A key that nobody uses takes no memory. */
export class TurnsByKey {
  readonly #atOnce: number;
  readonly #byKey = new Map<string, { readonly turns: Turns; users: number }>();

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** As {@link Turns.turn}, among those of the same key. */
  async turn(key: string, signal: AbortSignal): Promise<Disposable> {
    const kind = this.#byKey.get(key) ?? { turns: new Turns(this.#atOnce), users: 0 };
    this.#byKey.set(key, kind);
    kind.users += 1;
    const leave = (): void => {
      kind.users -= 1;
      if (kind.users === 0) this.#byKey.delete(key);
    };
    try {
      const turn = await kind.turns.turn(signal);
      return {
        [Symbol.dispose]: () => {
          turn[Symbol.dispose]();
          leave();
        },
      };
    } catch (error) {
      leave();
      throw error;
    }
  }
}
