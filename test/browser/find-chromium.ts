/** Where the Chromium of this machine is. */
import { installLine, installPackage, mayInstall } from "../apt.ts";
import { findProgram } from "../find-program.ts";

/** Says where Chromium is; `npm test` sets it. */
const CHROMIUM = "CHROMIUM";

/**
 * Finds Chromium and passes it on to child processes by the environment; where there is none, and we may install it, installs it first.
 * @throws Error of one line that says what to do.
 */
export function ensureChromium(): void {
  if (locateChromium() === undefined && mayInstall()) installPackage("chromium");
  process.env[CHROMIUM] = findChromium();
}

/**
 * The path of Chromium: `CHROMIUM`, else the first one on PATH, in /usr/bin or in /usr/local/bin.
 * @throws Error of one line: how to install it.
 */
export function findChromium(): string {
  const path = locateChromium();
  if (path === undefined) throw new Error(`The tests of browsers need Chromium. Install it: ${installLine("chromium")}`);
  return path;
}

function locateChromium(): string | undefined {
  const named = process.env[CHROMIUM];
  if (named !== undefined && named !== "") return named;
  return findProgram("chromium", "chromium-browser", "google-chrome", "google-chrome-stable");
}
