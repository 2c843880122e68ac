/** Tasks that wait in a shard and that this version cannot read: looked past, so that they do not stand before those that it can. */
const MAX_REMEMBERED = 1000;
/** Between two words to the operator. */
const WARN_MS = 60_000;

/** Remembers them, as far as they were met lately. */
export class LeftToNewer {
  readonly #shards = new Map<number, Set<string>>();
  readonly #what: string;
  readonly #warn: (message: string) => void;
  #warned = -Infinity;

  /** `what` waits; `warn` is told of it, once a minute at most. */
  constructor(what: string, warn: (message: string) => void) {
    this.#what = what;
    this.#warn = warn;
  }

  /** How many more a look has to ask for. */
  count(shard: number): number {
    return this.#shards.get(shard)?.size ?? 0;
  }

  /** What a script has refused. */
  note(shard: number, ids: readonly string[]): void {
    if (ids.length === 0) return;
    const known = this.#shards.get(shard) ?? new Set();
    if (known.size + ids.length > MAX_REMEMBERED) known.clear();
    for (const id of ids) known.add(id);
    this.#shards.set(shard, known);
    if (performance.now() - this.#warned < WARN_MS) return;
    this.#warned = performance.now();
    this.#warn(`redis: ${this.#what} for a newer version of this program, which has written to task ${ids[0]} among others`);
  }

  /** Those of the ids that are none of them. `all`: nothing else waits, so that what is not among the ids is forgotten. */
  without(shard: number, ids: readonly string[], all: boolean): string[] {
    const known = this.#shards.get(shard);
    if (known === undefined) return [...ids];
    if (all) this.#shards.set(shard, known.intersection(new Set(ids)));
    return ids.filter((id) => !known.has(id));
  }
}
