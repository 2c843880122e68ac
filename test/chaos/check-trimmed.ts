/** Checks what is left of a log that is trimmed. */
import type { Entry } from "../../src/core/log-entry.ts";
import type { Finding } from "./finding.ts";

/** It is the end of what was stored, without a gap, and no shorter than the window. */
export function checkTrimmed(taskId: string, kept: readonly Entry[], stored: readonly Entry[], window: number): Finding[] {
  const end = stored.slice(stored.length - kept.length);
  const index = end.findIndex(({ offset, mark }, at) => kept[at]?.offset !== offset || kept[at].mark !== mark);
  if (kept.length > stored.length || index >= 0) {
    return [{ kind: "lost", taskId, what: `what is kept is not the end of what was stored: ${kept[Math.max(0, index)]?.offset}` }];
  }
  if (kept.length >= Math.min(window, stored.length)) return [];
  return [{ kind: "lost", taskId, what: `${kept.length} of ${stored.length} entries are kept, fewer than the window` }];
}
