/** The inbox of files: what it keeps, for whom, and how long. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { FileInbox } from "../../src/client/webhook-receiver/file-inbox.ts";
import type { StoredNotification } from "../../src/client/webhook-receiver/inbox.ts";
import { openReceiver, pendingIn, taken, WORKING } from "./webhook-bed.ts";

suite("an inbox of files", () => {
  const withFolder = async (step: (folder: string) => Promise<void>): Promise<void> => {
    const folder = mkdtempSync(join(tmpdir(), "inbox-"));
    try {
      await step(join(folder, "inbox"));
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
  const stored = (id: string, receivedAt: number): StoredNotification => ({
    webhookId: "w",
    id,
    receivedAt,
    body: JSON.stringify(WORKING),
  });

  test("what was not dealt with is handed on after a restart, what was is not, and repeats of either are known", () =>
    withFolder(async (folder) => {
      {
        await using bed = await openReceiver({ inbox: new FileInbox(folder) });
        const { webhook, good } = bed;
        for (const id of ["a", "b", "c"]) assert.equal((await bed.post(WORKING, { "webhook-id": id })).status, 204);
        // The second one is in hand when the process goes.
        assert.deepEqual(
          (await taken(bed.receiver, 2)).map(({ id }) => id),
          ["a", "b"],
        );
        await using again = await openReceiver({ inbox: new FileInbox(folder) });
        for (const id of ["a", "b"]) {
          const request = new Request(webhook.url, {
            method: "POST",
            headers: { ...good, "webhook-id": id },
            body: JSON.stringify(WORKING),
          });
          assert.equal((await again.receiver.fetch(request)).status, 204);
        }
        assert.deepEqual(
          (await taken(again.receiver, 2)).map(({ id }) => id),
          ["b", "c"],
        );
      }
      assert.deepEqual(await pendingIn(new FileInbox(folder)), ["statusUpdate"]);
    }));

  test("of many who put the same one is told that it is new, and of many who bind a webhook the first is believed", () =>
    withFolder(async (folder) => {
      const inboxes = Array.from({ length: 8 }, () => new FileInbox(folder));
      const news = await Promise.all(inboxes.map((inbox) => inbox.put(stored("a", 1))));
      assert.equal(news.filter(Boolean).length, 1);
      const tasks = await Promise.all(inboxes.map((inbox, at) => inbox.bind("w", `t-${at}`)));
      assert.equal(new Set(tasks).size, 1);
    }));

  test("a file that was cut off is named, and not passed over", () =>
    withFolder(async (folder) => {
      const inbox = new FileInbox(folder);
      for (const id of ["a", "b"]) await inbox.put(stored(id, 1));
      const [name = ""] = readdirSync(join(folder, "pending"));
      truncateSync(join(folder, "pending", name), 10);
      await assert.rejects(inbox.pending(), (error: Error) => error.message.includes(name));
    }));

  test("they come back in the order in which they came", () =>
    withFolder(async (folder) => {
      const inbox = new FileInbox(folder);
      for (const [id, at] of [
        ["c", 3],
        ["a", 1],
        ["b", 2],
      ] as const)
        await inbox.put(stored(id, at));
      assert.deepEqual(
        (await inbox.pending()).map(({ id }) => id),
        ["a", "b", "c"],
      );
      await inbox.done(stored("b", 2));
      assert.deepEqual(
        (await new FileInbox(folder).pending()).map(({ id }) => id),
        ["a", "c"],
      );
    }));
});
