/** `npm run -s report [-- DIRECTORY]`: tells the story; the records stay in the directory, or in one of their own. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { story } from "./story.ts";

const directory = process.argv[2] ?? mkdtempSync(join(tmpdir(), "throughline-records-"));
await story({ directory, tell: (line) => process.stdout.write(`${line}\n`) });
process.stdout.write(`records   ${directory}\n`);
