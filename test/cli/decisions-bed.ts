/** A server whose tasks are decided on by processes, and a directory of records. */
import { join } from "node:path";
import { after } from "node:test";
import { A2AClient, type AcceptanceRecord } from "../../src/client/index.ts";
import { isTask } from "../../src/client/task-view.ts";
import type { Ran } from "../e2e/server-process.ts";
import { removeFolder, temporaryFolder } from "../redis/child-guard.ts";
import { cliBed, type CliBed } from "./cli-bed.ts";

/** What a suite has. */
export interface DecisionsBed {
  readonly bed: CliBed;
  /** Removed after the suite; records are below it. */
  readonly folder: string;
  /** Runs `throughline …` to its end. */
  readonly run: (args: readonly string[], env?: Readonly<Record<string, string>>) => Promise<Ran>;
  /** Id of a task that was sent and is at rest. */
  readonly deliver: (text: string, contextId?: string) => Promise<string>;
}

/** Opens one for a suite. */
export function decisionsBed(): DecisionsBed {
  const bed = cliBed();
  const folder = temporaryFolder("records");
  after(() => removeFolder(folder));
  return {
    bed,
    folder,
    run: (args, env = {}) => bed.run(args, { env: { THROUGHLINE_RECORDS: join(folder, "records"), ...env } }),
    deliver: async (text, contextId) => {
      await using client = await A2AClient.connect(`http://127.0.0.1:${bed().server.ports.http}`);
      const reply = await client.send(text, contextId === undefined ? {} : { contextId });
      if (!isTask(reply)) throw new Error("it is a task");
      return reply.id;
    },
  };
}

/** The record that a command has printed as JSON. */
export function recordIn({ stdout }: Ran): AcceptanceRecord {
  return JSON.parse(stdout) as AcceptanceRecord;
}
