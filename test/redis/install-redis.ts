/** Makes sure that the machine a test run is on has a redis-server. */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { findRedisServer, locateRedisServer, REDIS_SERVER } from "./find-redis.ts";

const APT_GET = "/usr/bin/apt-get";

/** Asked by Debian's maintainer scripts before they start a service; 101 forbids it. */
const POLICY = "/usr/sbin/policy-rc.d";

/**
 * Finds redis-server and passes it on to child processes by the environment; where there is none, and we are root on
 * a machine with apt-get, installs it first. No server is left running by that.
 * @throws Error of one line that says what to do.
 */
export function ensureRedisServer(): void {
  if (locateRedisServer() === undefined && process.getuid?.() === 0 && existsSync(APT_GET)) install();
  process.env[REDIS_SERVER] = findRedisServer();
}

function install(): void {
  process.stdout.write("redis-server is missing: installing Debian's package\n");
  // An index that could not be refreshed may still be good enough; the install tells.
  aptGet("update");
  withoutServices(() => aptGet("install", "-y", "--no-install-recommends", "redis-server"));
}

function aptGet(...args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(APT_GET, ["-q", "-o", "DPkg::Lock::Timeout=120", ...args], {
    encoding: "utf8",
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    timeout: 300_000,
  });
  // The package counts as installed when its program is there, whatever its scripts made of a machine without an init.
  if (status !== 0) process.stderr.write(`apt-get ${args.join(" ")} ended with ${status}\n${stdout}${stderr}`);
}

function withoutServices(work: () => void): void {
  if (existsSync(POLICY)) {
    work();
    return;
  }
  writeFileSync(POLICY, "#!/bin/sh\nexit 101\n");
  chmodSync(POLICY, 0o755);
  try {
    work();
  } finally {
    rmSync(POLICY, { force: true });
  }
}
