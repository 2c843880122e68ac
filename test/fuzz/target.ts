/** What is fuzzed. */
import type { Random } from "./random.ts";

/** A target that stands. */
interface OpenTarget extends AsyncDisposable {
  /** Gives it one input, made by chance. Rejects where what comes back is wrong; what hangs is told by whoever calls. */
  input(random: Random): Promise<void>;
  /** Rejects where good callers are not served any more. */
  check(): Promise<void>;
}

/** A target. */
export interface Target {
  readonly name: string;
  open(): Promise<OpenTarget>;
}
