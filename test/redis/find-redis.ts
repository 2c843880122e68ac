/** Where the redis-server of this machine is, and whether it is new enough. */
import { spawnSync } from "node:child_process";
import { installLine } from "../apt.ts";
import { findProgram } from "../find-program.ts";

/** Says where redis-server is; `npm test` sets it, so that the files of a run need not look for it again. */
export const REDIS_SERVER = "REDIS_SERVER";

const OLDEST_MAJOR = 7;

/**
 * The path of redis-server: `REDIS_SERVER`, else the first one on PATH, in /usr/bin or in /usr/local/bin.
 * @throws Error of one line: how to install it, or that it is older than 7.0.
 */
export function findRedisServer(): string {
  const path = locateRedisServer();
  if (path === undefined)
    throw new Error(`The tests need redis-server ${OLDEST_MAJOR}.0 or newer. Install it: ${installLine("redis-server")}`);
  checkVersion(path);
  return path;
}

/** As {@link findRedisServer}, but undefined where there is none, and its version is not looked at. */
export function locateRedisServer(): string | undefined {
  const named = process.env[REDIS_SERVER];
  return named !== undefined && named !== "" ? named : findProgram("redis-server");
}

const checked = new Set<string>();

function checkVersion(path: string): void {
  if (checked.has(path)) return;
  const { stdout, error } = spawnSync(path, ["--version"], { encoding: "utf8" });
  if (error !== undefined) throw new Error(`${path} cannot be run: ${error.message}`, { cause: error });
  const [, version = "?", major] = /v=((\d+)\.[\d.]+)/.exec(stdout) ?? [];
  if (Number(major ?? 0) < OLDEST_MAJOR) throw new Error(`The tests need redis-server ${OLDEST_MAJOR}.0 or newer; ${path} is ${version}.`);
  checked.add(path);
}
