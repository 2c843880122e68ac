/** Headers of a call, as the Fetch standard's interface has them, at a tenth of the cost: they were checked when they were read. */

/** Its values have commas of their own: each goes on a line of its own, as many readers know only one on a line. */
const CHALLENGES = "www-authenticate";

/** A list of headers. Names compare without case; values of one name are joined by commas (RFC 9110, 5.3). */
export class PlainHeaders implements Headers {
  readonly #values = new Map<string, string>();
  readonly #challenges: string[] = [];

  append(name: string, value: string): void {
    const key = name.toLowerCase();
    const known = this.#values.get(key);
    this.#values.set(key, known === undefined ? value : `${known}, ${value}`);
    if (key === CHALLENGES) this.#challenges.push(value);
  }

  /** Name and value of each header, with a list of values where each is to have a line of its own. */
  *lines(): IterableIterator<[string, string | string[]]> {
    for (const [name, value] of this.#values)
      yield [name, name === CHALLENGES && this.#challenges.length > 0 ? [...this.#challenges] : value];
  }

  delete(name: string): void {
    this.#values.delete(name.toLowerCase());
  }

  get(name: string): string | null {
    return this.#values.get(name.toLowerCase()) ?? null;
  }

  getSetCookie(): string[] {
    const cookie = this.get("set-cookie");
    return cookie === null ? [] : [cookie];
  }

  has(name: string): boolean {
    return this.#values.has(name.toLowerCase());
  }

  set(name: string, value: string): void {
    this.#values.set(name.toLowerCase(), value);
  }

  forEach(visit: (value: string, name: string, parent: Headers) => void): void {
    for (const [name, value] of this.#values) visit(value, name, this);
  }

  entries(): ReturnType<Headers["entries"]> {
    return this.#values.entries();
  }

  keys(): ReturnType<Headers["keys"]> {
    return this.#values.keys();
  }

  values(): ReturnType<Headers["keys"]> {
    return this.#values.values();
  }

  [Symbol.iterator](): ReturnType<Headers["entries"]> {
    return this.entries();
  }
}
