/** The rows, in the order in which they are run. */
import { chunks } from "./chunks.ts";
import { fanOut, paced } from "./fan-out.ts";
import { firstFrame } from "./first-frame.ts";
import { gets } from "./gets.ts";
import { idle, idleSubscribers } from "./idle.ts";
import type { Row } from "./row.ts";
import { shortSends } from "./short-sends.ts";

export const ROWS: readonly Row[] = [shortSends, chunks, gets, fanOut, paced, idle, idleSubscribers, firstFrame];
