/** Redis as it was a moment ago: what a failover to a replica that had not heard of the last writes leaves. */
import type { RedisServer } from "./redis-server.ts";

/** The keys that `prefix` begins, as they are now. */
export interface Savepoint {
  /** Puts them back in one step; keys that came since are gone. Nobody is told. */
  restore(): Promise<void>;
}

/** Remembers everything. */
export async function savepoint(server: RedisServer): Promise<Savepoint> {
  const client = server.client();
  const names = await client.keys("*");
  const dumps = await Promise.all(names.map((name) => client.dumpBuffer(name)));
  return {
    async restore() {
      const step = client.multi();
      for (const name of await client.keys("*")) if (!names.includes(name)) step.del(name);
      for (const [index, name] of names.entries()) {
        const dump = dumps[index];
        if (dump !== null && dump !== undefined) step.restore(name, 0, dump, "REPLACE");
      }
      await step.exec();
    },
  };
}
