/** Cores of their own for servers and for those who call them. */
import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";

/**
 * The threads of this process, and the processes that it starts from now on, get this core and no other. Nothing happens where there is only one, or no
 * `taskset`.
 */
export function pinTo(core: 0 | 1): void {
  if (availableParallelism() > 1) spawnSync("taskset", ["-acp", String(core), String(process.pid)]);
}
