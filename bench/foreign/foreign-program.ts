/** Servers of other languages: built as the interop run builds its own, with the same pinned versions. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findProgram } from "../../test/find-program.ts";
import { cacheOf } from "../../test/interop/cache.ts";
import type { Command, ForeignKit } from "../../test/interop/foreign-kit.ts";
import { go } from "../../test/interop/go/kit.ts";
import { python } from "../../test/interop/python/kit.ts";

/** A server that is not a program of Node. */
export interface Foreign {
  readonly kit: ForeignKit;
  /** How it is started, when its kit was built. */
  command(cache: string): Command;
}

/** test/interop/go/benchserver, which the kit builds along with its own. */
export const GO_SERVER: Foreign = { kit: go, command: (cache) => ({ file: join(cache, "bin", "benchserver"), args: [] }) };

/** server.py, in the environment of the kit. */
export const PYTHON_SERVER: Foreign = {
  kit: python,
  command: (cache) => ({
    file: join(cache, "env/bin/python"),
    args: ["-B", fileURLToPath(new URL("server.py", import.meta.url))],
    env: { PYTHONPATH: join(cache, "stubs") },
  }),
};

const builds = new Map<Foreign, Promise<Command>>();

/** Builds it, once in each run, and answers how it is started. */
export function build(foreign: Foreign): Promise<Command> {
  const known = builds.get(foreign);
  if (known !== undefined) return known;
  const cache = cacheOf(foreign.kit);
  const building = foreign.kit.build(cache).then(() => foreign.command(cache));
  builds.set(foreign, building);
  return building;
}

/** What its kit needs and this machine has not. */
export function lacks({ kit }: Foreign): string[] {
  return kit.needs.map(({ program }) => program).filter((program) => findProgram(program) === undefined);
}
