/** Options of what a server tells of its calls. */
import { z } from "zod";

/** The option `callLog`. */
export const callLogSchema = z
  .enum(["failed", "all", "none"])
  .default("failed")
  .describe("Which calls have a line in the log at info or above: those that failed or were refused, all, or none at any level.");
