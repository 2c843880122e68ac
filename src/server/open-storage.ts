/** The store of a server. */
import type { Agent } from "../core/agent.ts";
import type { Storage } from "../core/storage.ts";
import type { Log, Measures } from "../core/telemetry.ts";
import { MemoryStorage } from "../storage/memory/memory-storage.ts";
import { OptionsError, type ServerOptions } from "./options.ts";

/** The store that the options ask for. Throws {@link OptionsError} where it cannot be used. */
export async function openStorage(
  agent: Agent,
  options: ServerOptions,
  { log, measures }: { readonly log: Log; readonly measures: Measures },
): Promise<Storage> {
  const { url, ...redis } = options.redis;
  if (url === undefined) return new MemoryStorage(options);
  // Not loaded where nobody asks for it.
  const { RedisStorage, StoreSetupError } = await import("../storage/redis/index.ts");
  const facts = { agent: agent.card.name ?? "agent", warn: (message: string) => log.warn({}, message), measures };
  try {
    return await RedisStorage.open({ ...options, ...redis, url }, facts);
  } catch (error) {
    if (error instanceof StoreSetupError) throw new OptionsError(error.message, { cause: error });
    throw error;
  }
}
