/** Opens the front of an upstream agent, which may take its time to come up. */
import { setTimeout as delay } from "node:timers/promises";
import { A2AError } from "../client/index.ts";
import type { Log } from "../core/telemetry.ts";
import { OptionsError } from "../server/options.ts";
import { type UpstreamAgent, upstreamAgent } from "../upstream/upstream-agent.ts";
import { say } from "./output.ts";
import { shownAddress, type UpstreamAsked } from "./upstream-flags.ts";

/** Between two attempts. */
const AGAIN_MS = 500;

/** The front. Throws OptionsError where the upstream cannot be used, or has not come up in time. */
export async function openFront({ address, options, waitMs }: UpstreamAsked, log: Log): Promise<UpstreamAgent> {
  const until = Date.now() + waitMs;
  for (let told = false; ; told = true) {
    try {
      return await upstreamAgent(address, { ...options, log });
    } catch (error) {
      if (!(error instanceof A2AError)) throw error;
      if (!mayComeUp(error)) throw new OptionsError(`--upstream: ${error.message}`, { cause: error });
      if (Date.now() >= until)
        throw new OptionsError(`--upstream: ${error.message}; it was waited for ${Math.round(waitMs / 1000)} s`, { cause: error });
      if (!told) say(`throughline: waiting for the upstream agent at ${shownAddress(address)}: ${error.message}`);
    }
    await delay(Math.min(AGAIN_MS, Math.max(0, until - Date.now())));
  }
}

/** What stands before a card that can be read: nobody listens, or something that is not ready yet. */
function mayComeUp(error: A2AError): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (/^(ECONN|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|UND_ERR_)/.test(String((cause as NodeJS.ErrnoException).code))) return true;
  }
  return error.unreached || error.reason === "UNAVAILABLE" || /HTTP (404|502|503|504)$|no agent card/.test(error.message);
}
