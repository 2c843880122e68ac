/** Makes sure that the machine a test run is on has a redis-server. */
import { installPackage, mayInstall } from "../apt.ts";
import { findRedisServer, locateRedisServer, REDIS_SERVER } from "./find-redis.ts";

/**
 * Finds redis-server and passes it on to child processes by the environment; where there is none, and we may install it, installs it first.
 * @throws Error of one line that says what to do.
 */
export function ensureRedisServer(): void {
  if (locateRedisServer() === undefined && mayInstall()) installPackage("redis-server");
  process.env[REDIS_SERVER] = findRedisServer();
}
