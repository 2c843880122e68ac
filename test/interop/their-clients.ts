/** Clients that are not ours, on our server. */
import assert from "node:assert/strict";
import { type Cell, type Column, COLUMNS, NotOffered } from "./columns.ts";
import type { Binding, ClientReport, ForeignClient } from "./foreign-kit.ts";
import { callForeign } from "./foreign-process.ts";
import { judge } from "./judge.ts";
import type { OurServers } from "./our-servers.ts";

/** Long enough for a process that starts a second connection on a busy machine. */
export const LONG_STREAM = "stream 10 600";
export const LONG_TEXT = "c1 c2 c3 c4 c5 c6 c7 c8 c9 c10 ";

/** Runs one operation and answers its report; throws {@link NotOffered} where the SDK has none. */
type Call = (...operation: readonly string[]) => Promise<ClientReport>;

/** Tries each column over one binding. */
export async function tryClient(client: ForeignClient, binding: Binding, servers: OurServers): Promise<ReadonlyMap<Column, Cell>> {
  const cells = new Map<Column, Cell>();
  for (const column of COLUMNS) {
    const card = column === "replica" ? servers.replicas[0] : servers.memory;
    const call: Call = async (...operation) => offered(await callForeign(client, binding, card, operation));
    const run = (): Promise<void> => TRIALS[column](call, servers);
    cells.set(column, await judge({ column, binding, remarks: client.remarks ?? [], run }));
  }
  return cells;
}

function offered(report: ClientReport): ClientReport {
  if (report.unsupported === true) throw new NotOffered(report.why ?? "the program does not say why");
  return report;
}

const TRIALS: Readonly<Record<Column, (call: Call, servers: OurServers) => Promise<void>>> = {
  send: async (call) => void is(await call("send", "echo a few words"), "COMPLETED", "a few words"),
  ask: async (call) => {
    const { taskId = "", contextId = "" } = is(await call("send", "ask"), "INPUT_REQUIRED");
    const answered = is(await call("send", "the answer", taskId, contextId), "COMPLETED", "the answer");
    assert.equal(answered.taskId, taskId);
  },
  fail: async (call) => void is(await call("send", "fail"), "FAILED"),
  message: async (call) => {
    const report = await call("send", "message as it is");
    assert.deepEqual([report.ok, report.message], [true, "as it is"], JSON.stringify(report));
  },
  stream: async (call) => void is(await call("stream", "stream 5 20"), "COMPLETED", "c1 c2 c3 c4 c5 "),
  resume: async (call) => void is(await call("resume", LONG_STREAM), "COMPLETED", LONG_TEXT),
  replica: async (call, { replicas }) => void is(await call("resume", LONG_STREAM, replicas[1]), "COMPLETED", LONG_TEXT),
  cancel: async (call) => void is(await call("cancel"), "CANCELED"),
  list: async (call) => {
    const { taskId, contextId = "" } = is(await call("send", "echo listed"), "COMPLETED", "listed");
    const { ids, ...report } = await call("list", contextId);
    assert.deepEqual(ids, [taskId], JSON.stringify(report));
  },
  push: async (call) => {
    const { taskId = "" } = is(await call("send", "echo watched"), "COMPLETED", "watched");
    const report = await call("push", taskId);
    assert.deepEqual([report.ok, report.ids?.length], [true, 1], JSON.stringify(report));
  },
  error: async (call) => {
    const report = await call("error");
    assert.deepEqual([report.ok, report.reason], [false, "TASK_NOT_FOUND"], JSON.stringify(report));
  },
};

/** Holds a report against the state and the texts of the artifacts that are right. */
function is(report: ClientReport, state: string, ...artifacts: readonly string[]): ClientReport {
  const seen = [report.ok, report.state, report.artifacts ?? []];
  assert.deepEqual(seen, [true, `TASK_STATE_${state}`, artifacts], `reported ${JSON.stringify(report)}`);
  return report;
}
