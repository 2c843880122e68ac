/** Configurations of webhooks: stored with their task, one by one, and gone with it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { TaskError } from "../../core/errors.ts";
import type { PushConfigRequest, StoredPushConfig } from "../../core/push-configs.ts";
import { assertNotFound, Lab, type OpenStore, request, status } from "./lab.ts";

const MOST = 3;
const config = (id: string, text = id, most = MOST): PushConfigRequest => ({ id, bytes: new TextEncoder().encode(text), most });

/** What is stored, readable. */
function shown(configs: readonly (StoredPushConfig | undefined)[]): unknown[] {
  return configs.map((one) => one && [one.id, new TextDecoder().decode(one.bytes)]);
}

/** Push configs. */
export function pushContract(open: OpenStore): void {
  test("R-096 R-098 R-100 a push config is read back as it was stored, alone and in the list, by id", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.begin();
    assert.deepEqual(await lab.storage.pushConfigs(task.id), []);
    assert.equal(await lab.storage.pushConfig(task.id, "a"), undefined);
    for (const id of ["b", "ä:*", "a"]) await lab.storage.setPushConfig(task.id, config(id));
    assert.deepEqual(shown(await lab.storage.pushConfigs(task.id)), [
      ["a", "a"],
      ["b", "b"],
      ["ä:*", "ä:*"],
    ]);
    assert.deepEqual(shown([await lab.storage.pushConfig(task.id, "ä:*"), await lab.storage.pushConfig(task.id, "c")]), [
      ["ä:*", "ä:*"],
      undefined,
    ]);
    const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    await lab.storage.setPushConfig(task.id, { id: "a", bytes, most: MOST });
    assert.deepEqual(new Uint8Array((await lab.storage.pushConfig(task.id, "a"))?.bytes ?? []), bytes);
  });

  test("C-62 the same id again takes the place of the first, also where the task may have no more", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.begin();
    for (const id of ["a", "b", "c"]) await lab.storage.setPushConfig(task.id, config(id));
    await assertFull(() => lab.storage.setPushConfig(task.id, config("d")));
    await lab.storage.setPushConfig(task.id, config("b", "new"));
    assert.deepEqual(shown(await lab.storage.pushConfigs(task.id)), [
      ["a", "a"],
      ["b", "new"],
      ["c", "c"],
    ]);
  });

  test("R-103 R-104 a deleted push config is gone, and deleting it again is no error", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.begin();
    await lab.storage.setPushConfig(task.id, config("a"));
    await lab.storage.setPushConfig(task.id, config("b"));
    for (const _ of ["once", "twice"]) await lab.storage.deletePushConfig(task.id, "a");
    assert.deepEqual(shown(await lab.storage.pushConfigs(task.id)), [["b", "b"]]);
  });

  test("R-095 a task that does not exist has no push configs and gets none", async () => {
    await using lab = await Lab.open(open);
    const id = lab.storage.newId("k");
    await assertNotFound(() => lab.storage.setPushConfig(id, config("a")));
    assert.deepEqual(await lab.storage.pushConfigs(id), []);
    assert.equal(await lab.storage.pushConfig(id, "a"), undefined);
    await lab.storage.deletePushConfig(id, "a");
  });

  test("a push config that comes with a send appears with its task; a repeated creation leaves it as it is", async () => {
    await using lab = await Lab.open(open);
    const creation = { ...lab.creation({ lease: request() }), push: config("a") };
    const first = await lab.storage.create(creation);
    await lab.storage.deletePushConfig(creation.id, "a");
    assert.deepEqual(await lab.storage.create(creation), first);
    assert.deepEqual(await lab.storage.pushConfigs(creation.id), []);
    const other = { ...lab.creation(), push: config("b") };
    await lab.storage.create(other);
    assert.deepEqual(shown(await lab.storage.pushConfigs(other.id)), [["b", "b"]]);
    assert.equal((await lab.storage.meta(other.id))?.position.offset, 2);
  });

  test("a push config that comes with a message is stored in the same step, or refused with it", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.interrupted();
    await task.followUp({ push: config("a") });
    await task.command("message", { push: config("b") });
    assert.deepEqual(shown(await lab.storage.pushConfigs(task.id)), [
      ["a", "a"],
      ["b", "b"],
    ]);
    const before = await task.everything();
    await assertFull(() => task.command("message", { push: config("c", "c", 2) }));
    assert.deepEqual(await task.everything(), before);
    await task.command("message", { push: config("a", "new", 2) });
    assert.deepEqual(shown(await lab.storage.pushConfigs(task.id)), [
      ["a", "new"],
      ["b", "b"],
    ]);
  });

  test("R-097 C-63 push configs outlive the end of their task, take new ones, and go when the task goes", async () => {
    await using lab = await Lab.open(open, { retentionMs: 50 });
    const task = await lab.owned();
    await lab.storage.setPushConfig(task.id, config("a"));
    await task.append([status(TaskState.COMPLETED)], { state: TaskState.COMPLETED, consumed: 2 });
    await lab.storage.setPushConfig(task.id, config("b"));
    assert.equal((await lab.storage.pushConfigs(task.id)).length, 2);
    await lab.pass(100);
    assert.equal((await lab.storage.sweep()).removed, 1);
    assert.deepEqual(await lab.storage.pushConfigs(task.id), []);
    await assertNotFound(() => lab.storage.setPushConfig(task.id, config("c")));
  });
}

async function assertFull(step: () => Promise<unknown>): Promise<void> {
  await assert.rejects(step, (error) => error instanceof TaskError && error.reason === "RESOURCE_EXHAUSTED");
}
