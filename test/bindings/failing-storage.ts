/** A store that fails with what a test sets, whatever it is asked. */
import type { Storage } from "../../src/core/storage.ts";

/** What calls ask of a store; what its replica asks for itself goes on. */
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

/** Wraps a store; `fail` may be called at any time, without an error to end the failing. */
export function failingStorage(inner: Storage): { readonly storage: Storage; readonly fail: (error?: unknown) => void } {
  let failure: unknown;
  const storage = new Proxy(inner, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      if (failure === undefined || !ASKED.has(name)) return member.bind(target) as unknown;
      return () => Promise.reject(failure);
    },
  });
  return { storage, fail: (error) => (failure = error) };
}
