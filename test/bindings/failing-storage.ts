/** A store that notes what it is asked, and fails with what a test sets. */
import type { Storage } from "../../src/core/storage.ts";

/** What calls ask of a store; what its replica asks for itself goes on, and is not noted. */
const ASKED: ReadonlySet<string | symbol> = new Set<keyof Storage>([
  "findRepeat",
  "create",
  "command",
  "meta",
  "checkpointOf",
  "read",
  "list",
  "setPushConfig",
  "pushConfig",
  "pushConfigs",
  "deletePushConfig",
]);

/** A store that a test holds. */
export interface FailingStorage {
  readonly storage: Storage;
  /** May be called at any time; without an error it ends the failing. */
  readonly fail: (error?: unknown) => void;
  /** What was asked since this was called last. */
  readonly takeAsked: () => string[];
}

/** Wraps a store. */
export function failingStorage(inner: Storage): FailingStorage {
  let failure: unknown;
  let asked: string[] = [];
  const storage = new Proxy(inner, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      if (ASKED.has(name)) asked.push(String(name));
      if (failure === undefined || !ASKED.has(name)) return member.bind(target) as unknown;
      return () => Promise.reject(failure);
    },
  });
  const takeAsked = (): string[] => {
    const taken = asked;
    asked = [];
    return taken;
  };
  return { storage, fail: (error) => (failure = error), takeAsked };
}
