/** Replicas in this process on one shared memory store: a run without Redis and without processes, to try the run itself. */
import { TaskError } from "../../src/core/errors.ts";
import type { Storage } from "../../src/core/storage.ts";
import type { Log } from "../../src/core/telemetry.ts";
import { resolveOptions } from "../../src/server/options.ts";
import { type RunningServer, serve } from "../../src/server/serve.ts";
import { LeaseBook } from "../../src/testing/lease-book.ts";
import { chaosAgent, type Given } from "./agent.ts";
import { isResumable, type Replica, type StartReplica, type StoreLink } from "./fleet.ts";
import { PUSH_OPTIONS, SERVE_OPTIONS } from "./serve-options.ts";
import type { ChaosStore } from "./store.ts";

/** A memory store that several replicas share. */
export interface SharedMemory extends ChaosStore {
  readonly storage: LeaseBook;
}

/** Opens it. */
export function sharedMemory(): SharedMemory {
  const storage = new LeaseBook(resolveOptions(SERVE_OPTIONS));
  return {
    storage,
    faults: {},
    logOf: async (taskId) => ((await storage.meta(taskId)) === undefined ? [] : storage.logOf(taskId)),
    custodyOf: async (taskId) => ((await storage.meta(taskId))?.leased === true ? "owned" : "nobody"),
    [Symbol.asyncDispose]: () => storage.close(),
  };
}

/** What the replicas of a run tell it. */
export interface MemoryInit {
  readonly storage: Storage;
  readonly given: (given: Given) => void;
  readonly log: Log;
  readonly webhooks: boolean;
}

/** Starts replicas in this process. */
export function memoryReplicas({ storage, given, log, webhooks }: MemoryInit): StartReplica {
  return async (place, generation) => {
    const replica = `replica-${place}-${generation}`;
    const link = new MemoryLink(storage);
    const agent = chaosAgent({ resumable: isResumable(place), given });
    const server = await serve({
      ...SERVE_OPTIONS,
      ...(webhooks && { push: { ...PUSH_OPTIONS, allow: [...PUSH_OPTIONS.allow] } }),
      replica,
      agent,
      log,
      storage: link.storage,
    });
    return new MemoryReplica(replica, server, link);
  };
}

class MemoryReplica implements Replica {
  readonly endpoint: Replica["endpoint"];
  readonly link: StoreLink;
  readonly gone: Promise<undefined>;
  readonly #server: RunningServer;
  readonly #left = Promise.withResolvers<undefined>();

  constructor(replica: string, server: RunningServer, link: StoreLink) {
    this.#server = server;
    this.link = link;
    this.gone = this.#left.promise;
    const { grpc, http } = server.ports;
    this.endpoint = { replica, grpc, http };
  }

  /** As near as it comes in one process: what it does from now on reaches nobody. */
  async kill(): Promise<void> {
    this.link.block();
    await this.#end({ atOnce: true, skip: AbortSignal.abort() });
  }

  drain(): void {
    void this.#end({});
  }

  async #end(how: Parameters<RunningServer["drain"]>[0]): Promise<void> {
    await this.#server.drain(how);
    this.#left.resolve(undefined);
  }
}

/** The shared store behind a door that can be shut: what is asked then fails as where Redis is away, what waits goes on waiting. */
class MemoryLink implements StoreLink {
  readonly storage: Storage;
  #open = true;

  constructor(inner: Storage) {
    this.storage = new Proxy(inner, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        if (name === "available") return () => this.#open;
        if (name === "tail" || name === "listen" || name === "newId" || name === "close") return value.bind(target) as unknown;
        return (...args: unknown[]) => (this.#open ? (Reflect.apply(value, target, args) as unknown) : Promise.reject(away()));
      },
    });
  }

  cut(): void {
    // Nothing is lost in one process.
  }

  block(): void {
    this.#open = false;
  }

  heal(): Promise<void> {
    this.#open = true;
    return Promise.resolve();
  }
}

function away(): TaskError {
  return new TaskError("STORE_UNAVAILABLE", "the store cannot be reached", { retryAfterMs: 1000 });
}
