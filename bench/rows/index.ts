/** The rows, in the order in which they are run. */
import { byEntries } from "./by-entries.ts";
import { byTasks } from "./by-tasks.ts";
import { chunks } from "./chunks.ts";
import { fanOut, paced, wideFanOut } from "./fan-out.ts";
import { firstFrame } from "./first-frame.ts";
import { gets } from "./gets.ts";
import { idle, idleSubscribers } from "./idle.ts";
import { latency } from "./latency.ts";
import type { Row } from "./row.ts";
import { shortSends } from "./short-sends.ts";

export const ROWS: readonly Row[] = [
  shortSends,
  gets,
  chunks,
  fanOut,
  wideFanOut,
  paced,
  latency,
  firstFrame,
  idle,
  idleSubscribers,
  byTasks,
  byEntries,
];
