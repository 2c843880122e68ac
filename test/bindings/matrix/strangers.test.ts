/** What a stranger's question costs: as much as one about a task that is not there. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { resolveOptions } from "../../../src/server/options.ts";
import { MemoryStorage } from "../../../src/storage/memory/memory-storage.ts";
import { failureOf, openBed, send, taskOf } from "../bed.ts";
import { failingStorage } from "../failing-storage.ts";
import { checkFailure } from "../failures.ts";
import { call, OF_A_TASK } from "./operations.ts";

const [ALICE, BOB] = [{ headers: { authorization: "Bearer a" } }, { headers: { authorization: "Bearer b" } }];

test("R-249 R-367 the store is asked the same for another's task as for one that is not there, whatever is asked of it", async () => {
  const { storage, takeAsked } = failingStorage(new MemoryStorage(resolveOptions({})));
  // Only the last task is at hand.
  await using bed = await openBed({ cacheBytes: 1, storage, tokens: { a: "alice", b: "bob" }, push: { enabled: true } });
  const { grpc } = bed;
  const { id } = taskOf(await grpc.unary("SendMessage", send("input"), ALICE));
  const more = { name: "SendMessage", streams: false, request: (taskId: string) => send("complete", { message: { taskId } }) };
  for (const operation of [...OF_A_TASK, more]) {
    const asked = [];
    for (const taskId of [id, crypto.randomUUID()]) {
      await grpc.unary("SendMessage", send("input"), ALICE);
      takeAsked();
      checkFailure(grpc, await failureOf(call(grpc, operation, operation.request(taskId), BOB)), "TASK_NOT_FOUND");
      asked.push(takeAsked());
    }
    assert.deepEqual(asked[0], asked[1], operation.name);
    assert.ok(asked[0]?.includes("meta"));
  }
});
