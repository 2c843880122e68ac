/** Debian packages that a test run needs. */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, rmSync, writeFileSync } from "node:fs";

const APT_GET = "/usr/bin/apt-get";

/** Asked by Debian's maintainer scripts before they start a service; 101 forbids it. */
const POLICY = "/usr/sbin/policy-rc.d";

/** Whether this process may install packages: it is root on a machine with apt-get. */
export function mayInstall(): boolean {
  return process.getuid?.() === 0 && existsSync(APT_GET);
}

/**
 * Installs a package; no server is left running by that. The package counts as installed when its program is there, whatever its scripts
 * made of a machine without an init: look for it.
 */
export function installPackage(name: string): void {
  process.stdout.write(`${name} is missing: installing Debian's package\n`);
  // An index that could not be refreshed may still be good enough; the install tells.
  aptGet("update");
  withoutServices(() => aptGet("install", "-y", "--no-install-recommends", name));
}

/** What a person types where this process may not install. */
export function installLine(name: string): string {
  return `apt-get update && apt-get install -y --no-install-recommends ${name}`;
}

function aptGet(...args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(APT_GET, ["-q", "-o", "DPkg::Lock::Timeout=120", ...args], {
    encoding: "utf8",
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    timeout: 600_000,
  });
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
