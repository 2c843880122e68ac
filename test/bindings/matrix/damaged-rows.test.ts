/** What lists show where the store holds bytes that are none of its. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { SILENT } from "../../../src/core/telemetry.ts";
import type { ListPage } from "../../../src/core/storage.ts";
import { resolveOptions } from "../../../src/server/options.ts";
import { MemoryStorage } from "../../../src/storage/memory/memory-storage.ts";
import { openBed, startTask } from "../bed.ts";

/** Bytes that no message begins with. */
const DAMAGED = Uint8Array.of(0xff, 0xff, 0xff);

class DamagedStorage extends MemoryStorage {
  readonly heads = new Set<string>();
  readonly logs = new Set<string>();

  override async list(...asked: Parameters<MemoryStorage["list"]>): Promise<ListPage> {
    const page = await super.list(...asked);
    const rows = page.rows.map(({ id, head: { state, statusTime, historyLength, task } }) => {
      return { id, head: { state, statusTime, historyLength, task: this.heads.has(id) ? DAMAGED : task } };
    });
    return { ...page, rows };
  }

  override async checkpointOf(taskId: string): ReturnType<MemoryStorage["checkpointOf"]> {
    if (this.logs.has(taskId)) throw new RangeError("damaged");
    return super.checkpointOf(taskId);
  }
}

suite("a list of tasks of which some are damaged in the store", () => {
  test("shows from its log what has a damaged head, leaves out what has a damaged log too, and tells the server's log of it", async () => {
    const storage = new DamagedStorage(resolveOptions({}));
    const told: unknown[] = [];
    await using bed = await openBed({ storage, log: { ...SILENT, error: ({ taskId }) => told.push(taskId) } });
    const [whole, head, log] = [await startTask(bed.grpc, "input"), await startTask(bed.grpc, "input"), await startTask(bed.grpc, "input")];
    for (const id of [head, log]) storage.heads.add(id);
    storage.logs.add(log);
    for (const caller of bed.callers) {
      const { message } = await caller.unary("ListTasks", {});
      const { tasks, totalSize } = message as unknown as { readonly tasks: readonly { readonly id: string }[]; readonly totalSize: number };
      assert.deepEqual(tasks.map(({ id }) => id).toSorted(), [whole, head].toSorted(), caller.binding);
      assert.equal(totalSize, 3);
    }
    assert.deepEqual(new Set(told), new Set([log]));
  });
});
