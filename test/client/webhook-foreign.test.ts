/** Webhooks as the official JavaScript SDK sends them: without an id, once, and with the token only where there are no credentials. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { StreamResponse, TaskPushNotificationConfig } from "@a2a-js/sdk";
import { DefaultPushNotificationSender, ServerCallContext } from "@a2a-js/sdk/server";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { openReceiver, taken, type WebhookBed } from "./webhook-bed.ts";

/** Sends events of a task to a webhook. */
async function sendAll({ webhook }: WebhookBed, events: readonly object[]): Promise<void> {
  const config = TaskPushNotificationConfig.fromJSON({ ...webhook, taskId: "t-1" });
  const store = { save: async () => undefined, load: async () => [config], delete: async () => undefined };
  const sender = new DefaultPushNotificationSender(store);
  const context = new ServerCallContext({ requestedVersion: "1.0" });
  for (const event of events) await sender.send(StreamResponse.fromJSON(event), context);
}

const status = (state: string): object => ({ statusUpdate: { taskId: "t-1", contextId: "c-1", status: { state } } });
const chunk = (text: string): object => ({
  artifactUpdate: { taskId: "t-1", contextId: "c-1", append: true, artifact: { artifactId: "a", parts: [{ text }] } },
});
const EVENTS = [status("TASK_STATE_WORKING"), chunk("one"), chunk("one"), chunk("two"), status("TASK_STATE_COMPLETED")];

suite("webhooks of the JavaScript SDK", () => {
  test("are taken by their token, and the same body counts once: GetTask says how often a chunk came", async () => {
    await using bed = await openReceiver({ authentication: false });
    await sendAll(bed, EVENTS);
    const got = await taken(bed.receiver, 4);
    assert.deepEqual(
      got.map(({ event }) => event.payload.case),
      ["statusUpdate", "artifactUpdate", "artifactUpdate", "statusUpdate"],
    );
    assert.deepEqual([got.at(-1)?.state, got.at(-1)?.taskId], [TaskState.COMPLETED, "t-1"]);
  });

  test("are refused where the receiver wants the credentials and the token: the SDK sends one of them", async () => {
    await using bed = await openReceiver();
    let refused = 0;
    const { error } = console;
    console.error = () => void (refused += 1);
    try {
      await sendAll(bed, EVENTS.slice(0, 1));
    } finally {
      console.error = error;
    }
    assert.equal(refused, 1);
  });
});
