/** Webhooks that are replaced, deleted and made anew while something is on its way to them. */
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { suite, test } from "node:test";
import type { ServeInit } from "../../src/server/serve.ts";
import { fileRedis } from "../redis/file-redis.ts";
import { type Receiver } from "./receiver.ts";
import { isEnded, shown } from "./shown.ts";
import { openWebhooks, type WebhookBed } from "./webhook-bed.ts";

const ROUNDS = 25;

/** The next request is held until the test answers it. */
function held(receiver: Receiver): Promise<ServerResponse> {
  const { promise, resolve } = Promise.withResolvers<ServerResponse>();
  receiver.next.push(resolve);
  return promise;
}

const paths = ({ receiver }: WebhookBed): string[] => receiver.received.map(({ path }) => path);

for (const store of ["memory", "Redis"]) {
  const init = async (): Promise<Partial<ServeInit>> => (store === "memory" ? {} : { redis: await fileRedis() });

  suite(`webhooks that change (${store})`, () => {
    for (const [status, what] of [
      [410, "removes it no more"],
      [404, "parks it no more"],
      [503, "counts no more"],
    ] as const) {
      test(`C-62 an answer of HTTP ${status} by the receiver that was replaced ${what}; the same event goes to the new one at once`, async () => {
        await using bed = await openWebhooks({ ...(await init()), push: { maxFailures: 1, retryBaseMs: 600_000, retryMaxMs: 600_000 } });
        const { receiver } = bed;
        const request = held(receiver);
        const taskId = await bed.begin("complete", { url: receiver.url("/old") });
        const response = await request;
        await bed.replace(taskId, { url: receiver.url("/new"), token: "new" });
        response.writeHead(status).end();
        await receiver.until(isEnded);
        assert.deepEqual(paths(bed), ["/old", "/new", "/new", "/new", "/new"]);
        assert.deepEqual(shown(receiver.received), ["SUBMITTED", "SUBMITTED", "WORKING", "forty-two", "COMPLETED"]);
        assert.deepEqual(new Set(receiver.received.slice(1).map(({ headers }) => headers["x-a2a-notification-token"])), new Set(["new"]));
        await bed.untilState(taskId, "done");
      });
    }

    test("C-62 a webhook that waits for its next attempt is tried at once where it is registered again, with what it then says", async () => {
      await using bed = await openWebhooks({ ...(await init()), renewMs: 50, push: { retryBaseMs: 600_000, retryMaxMs: 600_000 } });
      const { receiver } = bed;
      receiver.next.push(503);
      const taskId = await bed.begin("complete", { url: receiver.url("/old") });
      while (!(await bed.state(taskId)).includes("failures=1"));
      await bed.replace(taskId, { url: receiver.url("/new") });
      await receiver.until(isEnded);
      assert.deepEqual(paths(bed), ["/old", "/new", "/new", "/new", "/new"]);
    });

    test("R-104 one that is deleted and made anew under its id gets what comes after, not what the first one had still to get", async () => {
      await using bed = await openWebhooks(await init());
      const { receiver } = bed;
      const gate = bed.agent.gate();
      const request = held(receiver);
      const taskId = await bed.begin(`chunks ${gate.name}`, { url: receiver.url("/old") });
      const response = await request;
      await gate.reached;
      await bed.bed.rest.unary("DeleteTaskPushNotificationConfig", { taskId, id: "w" });
      await bed.replace(taskId, { url: receiver.url("/new") });
      response.writeHead(503).end();
      gate.open(3);
      await receiver.until(isEnded);
      assert.deepEqual(paths(bed).slice(0, 2), ["/old", "/new"]);
      assert.ok(!shown(receiver.received.slice(1)).includes("SUBMITTED"), "that was before it");
      assert.equal(shown(receiver.received).at(-1), "COMPLETED");
    });

    test("R-103 whenever a webhook is deleted, at most one request arrives after Delete has returned", async (t) => {
      await using bed = await openWebhooks(await init());
      const { receiver } = bed;
      let late = 0;
      for (let round = 0; round < ROUNDS; round += 1) {
        const gate = bed.agent.gate();
        const path = `/${round}`;
        const of = (at: string) => () => receiver.received.filter((one) => one.path === at);
        const mine = of(path);
        const taskId = await bed.begin(`chunks ${gate.name}`, { url: receiver.url(path) });
        const other = { taskId, id: "other", url: receiver.url(`/other${round}`) };
        await bed.bed.rest.unary("CreateTaskPushNotificationConfig", other);
        gate.open(3);
        await receiver.until(() => mine().length > round % 6);
        await bed.bed.rest.unary("DeleteTaskPushNotificationConfig", { taskId, id: "w" });
        const atReturn = mine().length;
        await receiver.until(() => isEnded(of(`/other${round}`)()));
        assert.ok(mine().length - atReturn <= 1, `${mine().length - atReturn} requests after round ${round}`);
        late += mine().length - atReturn;
      }
      t.diagnostic(`${late} of ${ROUNDS} deletions had a request under way`);
    });
  });
}
