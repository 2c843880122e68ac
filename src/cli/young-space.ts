/** The room that V8 keeps for objects that die young. */
import { setFlagsFromString } from "node:v8";

/**
 * Lets that room grow as V8 would. bin/throughline.js keeps it small while modules are loaded: of what a start allocates nearly all stays, and V8
 * would make the room as large as it may and give nothing of it back to a server that is idle. Commands that soon end leave it small.
 */
export function growYoungSpace(): void {
  setFlagsFromString("--semi-space-growth-factor=2");
}
