/** Asks where a name leads. */
import { lookup } from "node:dns";
import { Resolver } from "node:dns/promises";
import { promisify } from "node:util";
import type { LookupAddress } from "node:dns";

const TIMEOUT_MS = 1500;
const TRIES = 2;
/** Answers that there is no such name, or none with such an address. */
const NOT_FOUND: ReadonlySet<unknown> = new Set(["ENOTFOUND", "ENODATA"]);

/** As the platform does it: /etc/hosts, search lists and all. */
const asPlatform = promisify(lookup) as (host: string, options: { all: true }) => Promise<LookupAddress[]>;

/** What may be asked besides name servers. */
export type Platform = "first" | "last" | "never";

/**
 * Looks names up by asking name servers itself. The platform's own way occupies one of a few threads for as long as a name server takes, and
 * whoever registers webhooks may own one that takes for ever.
 */
export class Addresses {
  readonly #resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  readonly #given: boolean;

  /** `servers`: as `192.0.2.1` or `[2001:db8::1]:5353`; none: those of the platform. Throws where one is no address. */
  constructor(servers: readonly string[]) {
    this.#given = servers.length > 0;
    if (this.#given) this.#resolver.setServers(servers);
  }

  /** Every address of a name. `platform`: when the platform's own way is asked; never where name servers were given. Rejects with a `code`. */
  async of(host: string, platform: Platform): Promise<LookupAddress[]> {
    if (platform === "first" && !this.#given) return asPlatform(host, { all: true });
    try {
      return await this.#asked(host);
    } catch (error) {
      if (platform !== "last" || this.#given || !NOT_FOUND.has((error as NodeJS.ErrnoException).code)) throw error;
      return asPlatform(host, { all: true });
    }
  }

  async #asked(host: string): Promise<LookupAddress[]> {
    const [v4, v6] = await Promise.allSettled([this.#resolver.resolve4(host), this.#resolver.resolve6(host)]);
    const found = [...addressesOf(v6, 6), ...addressesOf(v4, 4)];
    if (found.length > 0) return found;
    const failures = [v4, v6].flatMap((one) => (one.status === "rejected" ? [one.reason as NodeJS.ErrnoException] : []));
    // One that may find something later says more.
    throw failures.find(({ code }) => !NOT_FOUND.has(code)) ?? failures[0] ?? new Error("no address");
  }
}

function addressesOf(answer: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  return answer.status === "fulfilled" ? answer.value.map((address) => ({ address, family })) : [];
}
