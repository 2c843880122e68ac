/** Waiting for what a server only tells when asked. */
import { setTimeout as delay } from "node:timers/promises";

const ASK_EVERY_MS = 20;

/**
 * Asks until the answer is neither undefined nor false, and returns it. An attempt that throws counts as no answer, as servers
 * come and go meanwhile.
 * @throws Error that names what was waited for, with what the last attempt threw as its cause.
 */
export async function until<T>(what: string, withinMs: number, ask: () => Promise<T | undefined | false>): Promise<T> {
  const deadline = performance.now() + withinMs;
  let cause: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (performance.now() > deadline) throw new Error(`Not within ${withinMs} ms: ${what}`, { cause });
    await delay(ASK_EVERY_MS);
  }
}
