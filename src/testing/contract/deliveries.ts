/** Deliveries to webhooks: who has something to deliver, who may, and how far each webhook is. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import type { DeliveryClaim, DeliveryReport } from "../../core/deliveries.ts";
import { newMark, type Position, START } from "../../core/log-entry.ts";
import type { PushConfigRequest } from "../../core/push-configs.ts";
import { chunk, Lab, type LabTask, type OpenStore, request, status } from "./lab.ts";

const LEASE_MS = 200;
const EXPIRED_MS = 300;

const config = (id: string): PushConfigRequest => ({ id, bytes: new TextEncoder().encode(id), most: 10 });

function report(configId: string, acknowledged: Position, more: Partial<DeliveryReport> = {}): DeliveryReport {
  return { configId, acknowledged, is: "active", failures: 0, retryInMs: 0, cause: "", ...more };
}

/** Claims everything that is due. */
function claimAll(lab: Lab): Promise<readonly DeliveryClaim[]> {
  return lab.storage.claimDeliveries(newMark(), 100);
}

async function claimOne(lab: Lab, task: Pick<LabTask, "id">): Promise<DeliveryClaim> {
  const [claim, ...others] = await claimAll(lab);
  assert.equal(claim?.taskId, task.id);
  assert.deepEqual(others, []);
  return claim;
}

/** What is stored of a task's webhooks, readable. */
async function shown(lab: Lab, taskId: string): Promise<unknown[]> {
  const deliveries = await lab.storage.deliveriesOf(taskId);
  return deliveries.map(({ config: { id }, is, acknowledged, failures, cause }) => [id, is, acknowledged.offset, failures, cause]);
}

/** Deliveries. */
export function deliveryContract(open: OpenStore): void {
  test("R-113 a webhook that came with the send begins before the first entry, and is due at once", async () => {
    await using lab = await Lab.open(open);
    const creation = { ...lab.creation({ lease: request() }), push: config("a") };
    await lab.storage.create(creation);
    await claimOne(lab, creation);
    assert.deepEqual(await claimAll(lab), [], "a claim is one replica's");
    const [delivery] = await lab.storage.deliveriesOf(creation.id);
    assert.deepEqual(delivery?.acknowledged, START);
    assert.deepEqual([delivery?.config.id, delivery?.is, delivery?.waitMs], ["a", "active", 0]);
  });

  test("a webhook that came later begins after the last entry; one that came with a message, before what that brought", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.interrupted();
    const { position } = await task.meta();
    await lab.storage.setPushConfig(task.id, config("late"));
    await task.command("message", { working: task.ready(TaskState.WORKING), push: config("along") });
    const deliveries = await lab.storage.deliveriesOf(task.id);
    assert.deepEqual(
      deliveries.map(({ config: { id }, acknowledged }) => [id, acknowledged]),
      [
        ["along", position],
        ["late", position],
      ],
    );
  });

  test("a task without webhooks is never due; with one it is, whenever entries come and nobody has the claim", async () => {
    await using lab = await Lab.open(open);
    const [plain, task] = [await lab.owned(), await lab.owned()];
    await plain.append([chunk()]);
    await lab.storage.setPushConfig(task.id, config("a"));
    const first = await claimOne(lab, task);
    assert.equal(await lab.storage.letGo(first, { webhooks: 1, seen: (await task.meta()).position.offset, againInMs: undefined }), true);
    assert.deepEqual(await claimAll(lab), [], "there is nothing new");
    await task.append([chunk()]);
    await claimOne(lab, task);
    await task.append([chunk()]);
    assert.deepEqual(await claimAll(lab), [], "the claimer follows the log");
    await plain.append([chunk()]);
    assert.deepEqual(await claimAll(lab), []);
  });

  test("a claim is not let go of where entries have come that its holder has not seen", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    await lab.storage.setPushConfig(task.id, config("a"));
    const claim = await claimOne(lab, task);
    const seen = (await task.meta()).position.offset;
    await task.append([chunk()]);
    assert.equal(await lab.storage.letGo(claim, { webhooks: 1, seen, againInMs: undefined }), false);
    assert.deepEqual(await lab.storage.holdDeliveries([claim]), [true]);
    assert.equal(await lab.storage.letGo(claim, { webhooks: 1, seen: seen + 1, againInMs: undefined }), true);
    assert.deepEqual(await lab.storage.holdDeliveries([claim]), [false]);
    assert.equal(await lab.storage.letGo(claim, { webhooks: 1, seen, againInMs: undefined }), true, "a claim that has ended has ended");
  });

  test("a claim is not let go of where there are webhooks that its holder has not heard of", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    await lab.storage.setPushConfig(task.id, config("a"));
    const claim = await claimOne(lab, task);
    const seen = (await task.meta()).position.offset;
    assert.equal(await lab.storage.letGo(claim, { webhooks: 0, seen: Infinity, againInMs: undefined }), false);
    await lab.storage.setPushConfig(task.id, config("b"));
    assert.equal(await lab.storage.letGo(claim, { webhooks: 1, seen, againInMs: 60_000 }), false);
    assert.deepEqual(await lab.storage.holdDeliveries([claim]), [true]);
    await lab.storage.deletePushConfig(task.id, "a");
    assert.equal(await lab.storage.letGo(claim, { webhooks: 1, seen, againInMs: undefined }), true);
  });

  test("a claim that is let go of for a time is due again after it, or as soon as entries come", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    await lab.storage.setPushConfig(task.id, config("a"));
    const seen = (await task.meta()).position.offset;
    await lab.storage.letGo(await claimOne(lab, task), { webhooks: 1, seen, againInMs: 150 });
    assert.deepEqual(await claimAll(lab), []);
    await lab.pass(200);
    await lab.storage.sweep();
    await lab.storage.letGo(await claimOne(lab, task), { webhooks: 1, seen, againInMs: 60_000 });
    await task.append([chunk()]);
    await claimOne(lab, task);
  });

  test("a claim runs out like a lease unless it is held, and the next one takes over; the old one can say nothing any more", async () => {
    await using lab = await Lab.open(open, { leaseMs: LEASE_MS });
    const task = await lab.owned();
    await lab.storage.setPushConfig(task.id, config("a"));
    assert.equal((await lab.storage.sweep()).backlog.due, 1);
    const old = await claimOne(lab, task);
    assert.equal((await lab.storage.sweep()).backlog.due, 0);
    await lab.pass(EXPIRED_MS);
    await lab.storage.sweep();
    const claim = await claimOne(lab, task);
    assert.deepEqual(await lab.storage.holdDeliveries([old, claim]), [false, true]);
    const position = (await task.meta()).position;
    assert.equal(await lab.storage.reportDelivery(old, report("a", position)), "lost");
    assert.equal(await lab.storage.reportDelivery(claim, report("a", position)), "recorded");
  });

  test("an acknowledgement never goes back, and what is reported is read again", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    await lab.storage.setPushConfig(task.id, config("a"));
    const claim = await claimOne(lab, task);
    const early = task.position;
    await task.append([chunk(), chunk()]);
    const { offset } = task.position;
    assert.equal(await lab.storage.reportDelivery(claim, report("a", task.position)), "recorded");
    const failed = report("a", early, { failures: 2, retryInMs: 60_000, cause: "HTTP 503 from the webhook" });
    assert.equal(await lab.storage.reportDelivery(claim, failed), "recorded");
    assert.deepEqual(await shown(lab, task.id), [["a", "active", offset, 2, "HTTP 503 from the webhook"]]);
    const [delivery] = await lab.storage.deliveriesOf(task.id);
    assert.ok((delivery?.waitMs ?? 0) > 50_000 && (delivery?.waitMs ?? 0) <= 60_000);
  });

  test("R-103 of a deleted push config nothing is recorded, and a task without one is let go of", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    await lab.storage.setPushConfig(task.id, config("a"));
    const claim = await claimOne(lab, task);
    await lab.storage.deletePushConfig(task.id, "a");
    assert.equal(await lab.storage.reportDelivery(claim, report("a", task.position)), "gone");
    assert.deepEqual(await lab.storage.deliveriesOf(task.id), []);
    await task.append([chunk()]);
    assert.equal(await lab.storage.letGo(claim, { webhooks: 1, seen: 0, againInMs: undefined }), true);
    await task.append([chunk()]);
    assert.deepEqual(await claimAll(lab), []);
  });

  test("R-116 a parked webhook gets nothing more, until it is registered again: then it goes on where it was", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    await lab.storage.setPushConfig(task.id, config("a"));
    const claim = await claimOne(lab, task);
    const { position } = await task.meta();
    await lab.storage.reportDelivery(claim, report("a", position, { is: "parked", failures: 9, cause: "it answered HTTP 404" }));
    await lab.storage.letGo(claim, { webhooks: 1, seen: position.offset, againInMs: undefined });
    await task.append([chunk()]);
    assert.deepEqual(await claimAll(lab), []);
    assert.deepEqual(await shown(lab, task.id), [["a", "parked", position.offset, 9, "it answered HTTP 404"]]);
    await lab.storage.setPushConfig(task.id, config("a"));
    await claimOne(lab, task);
    assert.deepEqual(await shown(lab, task.id), [["a", "active", position.offset, 0, ""]]);
  });

  test("C-63 a webhook is done when it has the end of its task; one that is registered after it has nothing to wait for", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    await lab.storage.setPushConfig(task.id, config("a"));
    const claim = await claimOne(lab, task);
    await task.append([status(TaskState.COMPLETED)], { state: TaskState.COMPLETED, consumed: 2 });
    const { position } = await task.meta();
    await lab.storage.reportDelivery(claim, report("a", position, { is: "done" }));
    assert.equal(await lab.storage.letGo(claim, { webhooks: 1, seen: position.offset, againInMs: undefined }), true);
    await lab.storage.setPushConfig(task.id, config("b"));
    await lab.storage.setPushConfig(task.id, config("a"));
    assert.deepEqual(await shown(lab, task.id), [
      ["a", "done", position.offset, 0, ""],
      ["b", "done", position.offset, 0, ""],
    ]);
    assert.deepEqual(await claimAll(lab), []);
  });

  test("a webhook that is registered again while it is active keeps its place and takes the new settings", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    await lab.storage.setPushConfig(task.id, config("a"));
    const { offset } = (await task.meta()).position;
    await task.append([chunk()]);
    await lab.storage.setPushConfig(task.id, { ...config("a"), bytes: new TextEncoder().encode("new") });
    const [delivery] = await lab.storage.deliveriesOf(task.id);
    assert.equal(delivery?.acknowledged.offset, offset);
    assert.equal(new TextDecoder().decode(delivery?.config.bytes), "new");
  });

  test("a webhook that waits after failures and is registered again is due at once, and has not failed yet", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    await lab.storage.setPushConfig(task.id, config("a"));
    const claim = await claimOne(lab, task);
    const { position } = await task.meta();
    await lab.storage.reportDelivery(claim, report("a", position, { failures: 4, retryInMs: 60_000, cause: "it answered HTTP 503" }));
    await lab.storage.letGo(claim, { webhooks: 1, seen: position.offset, againInMs: 60_000 });
    assert.deepEqual(await claimAll(lab), []);
    await lab.storage.setPushConfig(task.id, config("a"));
    await claimOne(lab, task);
    const [delivery] = await lab.storage.deliveriesOf(task.id);
    assert.deepEqual([delivery?.is, delivery?.failures, delivery?.waitMs, delivery?.cause], ["active", 0, 0, ""]);
    await lab.storage.deletePushConfig(task.id, "a");
    await task.append([chunk()]);
    assert.deepEqual(await claimAll(lab), [], "it was counted once");
  });

  test("a webhook that was parked for so long that the log is not kept for it belongs to another history when it is registered again", async () => {
    await using lab = await Lab.open(open, { windowEntries: 2, windowBytes: 1 });
    const task = await lab.owned();
    await lab.storage.setPushConfig(task.id, config("a"));
    const claim = await claimOne(lab, task);
    await lab.storage.reportDelivery(claim, report("a", task.position, { is: "parked", failures: 1, cause: "it answered HTTP 404" }));
    await task.append([chunk(), chunk(), chunk(), chunk()]);
    await lab.storage.checkpoint(task.id, task.lease, { position: task.position, bytes: new Uint8Array([1]) });
    await lab.storage.setPushConfig(task.id, config("a"));
    const [delivery] = await lab.storage.deliveriesOf(task.id);
    const after = delivery?.acknowledged ?? assert.fail();
    assert.equal((await lab.storage.read(task.id, after)).is, "gone");
    assert.equal((await task.meta()).firstOffset, after.offset + 1, "it is not too far behind any more");
  });

  test("a checkpoint trims nothing that an active webhook still needs", async () => {
    await using lab = await Lab.open(open, { windowEntries: 2, windowBytes: 1 });
    const task = await lab.owned();
    await lab.storage.setPushConfig(task.id, config("a"));
    const claim = await claimOne(lab, task);
    const before = task.position;
    await task.append([chunk(), chunk(), chunk(), chunk()]);
    await lab.storage.checkpoint(task.id, task.lease, { position: task.position, bytes: new Uint8Array([1]) });
    const step = await lab.storage.read(task.id, before);
    assert.ok(step.is === "entries" && step.entries.length === 4);
    await lab.storage.reportDelivery(claim, report("a", task.position));
    await task.append([chunk(), chunk()]);
    await lab.storage.checkpoint(task.id, task.lease, { position: task.position, bytes: new Uint8Array([2]) });
    assert.equal((await lab.storage.read(task.id, before)).is, "gone");
  });

  test("with a task go its deliveries", async () => {
    await using lab = await Lab.open(open, { retentionMs: 50 });
    const task = await lab.owned();
    await lab.storage.setPushConfig(task.id, config("a"));
    await task.append([status(TaskState.COMPLETED)], { state: TaskState.COMPLETED, consumed: 2 });
    await lab.pass(100);
    assert.equal((await lab.storage.sweep()).removed, 1);
    assert.deepEqual(await lab.storage.deliveriesOf(task.id), []);
    assert.deepEqual(await claimAll(lab), []);
  });
}
