/** Every trigger of the conformance kit's executor, over every transport, to the letter. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { JsonValue } from "@bufbuild/protobuf";
import type { ServerOptionsInput } from "../../../src/index.ts";
import { fileRedis } from "../../redis/file-redis.ts";
import { serveProfile, type SuiteBed, triggered } from "./suite/bed.ts";
import { framesOf, next, outline, readTask, reasonOf, take, taskIn } from "./suite/read.ts";

/** What a message with this prefix leads to. */
interface Row {
  readonly prefix: string;
  /** Default: COMPLETED. */
  readonly state?: string;
  /** The status message. Default: none. */
  readonly says?: string;
  readonly artifact?: readonly JsonValue[];
  /** What a stream carries after `task SUBMITTED`. */
  readonly frames: readonly string[];
}

const FILE = { raw: "dGNr", filename: "output.txt", mediaType: "text/plain" };
const BY_URL = { url: "https://example.com/output.txt", filename: "output.txt", mediaType: "text/plain" };
const DATA = { data: { key: "value", count: 42 } };
const worked = (artifact: string): string[] => ["status WORKING", `artifact! ${artifact}`, "status COMPLETED"];

const ROWS: readonly Row[] = [
  { prefix: "tck-complete-task", says: "Hello from TCK", frames: ["status COMPLETED"] },
  { prefix: "tck-input-required", state: "INPUT_REQUIRED", says: "Input required", frames: ["status INPUT_REQUIRED"] },
  { prefix: "tck-auth-required", state: "AUTH_REQUIRED", says: "Authorization required", frames: ["status AUTH_REQUIRED"] },
  { prefix: "tck-delayed-complete", says: "Done after delay", frames: ["status WORKING", "status COMPLETED"] },
  { prefix: "tck-artifact-text", artifact: [{ text: "Generated text content" }], frames: worked("Generated text content") },
  { prefix: "tck-artifact-file", artifact: [FILE], frames: worked("output.txt") },
  { prefix: "tck-artifact-file-url", artifact: [BY_URL], frames: worked("https://example.com/output.txt") },
  { prefix: "tck-artifact-data", artifact: [DATA], frames: worked("data") },
  { prefix: "tck-reject-task", state: "REJECTED", says: "Rejected", frames: ["status REJECTED"] },
  { prefix: "tck-stream-001", artifact: [{ text: "Stream hello from TCK" }], frames: worked("Stream hello from TCK") },
  { prefix: "tck-stream-002", frames: ["status COMPLETED"] },
  { prefix: "tck-stream-003", artifact: [{ text: "Stream task lifecycle" }], frames: worked("Stream task lifecycle") },
  { prefix: "tck-stream-ordering-001", artifact: [{ text: "Ordered output" }], frames: worked("Ordered output") },
  { prefix: "tck-stream-artifact-text", artifact: [{ text: "Streamed text content" }], frames: worked("Streamed text content") },
  { prefix: "tck-stream-artifact-file", artifact: [FILE], frames: worked("output.txt") },
  {
    prefix: "tck-stream-artifact-chunked",
    artifact: [{ text: "chunk-1 " }, { text: "chunk-2" }],
    frames: ["status WORKING", "artifact chunk-1 ", "+artifact! chunk-2", "status COMPLETED"],
  },
  { prefix: "test-resubscribe-message-id", frames: ["status WORKING", "status COMPLETED"] },
];

/** Triggers that no row names. */
const OTHERS = ["tck-transport-test-001", "tck-dm-test-001", "tck-sse-streaming-001", "tck-grpc-streaming-001", "tck-send-003"].concat(
  ["tck-infer-ctx", "tck-ver-003", "tck-svc-x", "tck-dm-serial-005-x", "tck-status-success-007"],
  "quite-another-id",
);

/** Where the tasks are kept. */
const STORES: Readonly<Record<string, () => Promise<ServerOptionsInput>>> = {
  memory: async () => ({}),
  Redis: async () => ({ redis: await fileRedis() }),
};

for (const [store, options] of Object.entries(STORES)) {
  suite(`the conformance kit's executor, tasks in ${store}`, { concurrency: 4, timeout: 120_000 }, () => {
    let bed: SuiteBed;
    before(async () => {
      bed = await serveProfile("full", await options());
    });
    after(() => bed[Symbol.asyncDispose]());

    for (const { prefix, state = "COMPLETED", says = "", artifact, frames } of ROWS) {
      test(`${prefix}: ${state}${artifact === undefined ? "" : " with its artifact"}`, async () => {
        await Promise.all(
          bed.clients.map(async (client) => {
            const stream = client.stream(triggered(prefix, client));
            const [reply, streamed] = await Promise.all([client.send(triggered(prefix, client)), take(stream, frames.length + 1)]);
            const task = taskIn(reply);
            assert.deepEqual([task.state, task.says, task.artifacts], [state, says, artifact === undefined ? [] : [artifact]]);
            assert.deepEqual(outline(streamed), ["task SUBMITTED", ...frames]);
            // A stream ends with its task, or at a question; an authorization may come by another way.
            if (state === "AUTH_REQUIRED") await stream.return(undefined);
            else assert.deepEqual(await framesOf(stream), []);
            assert.deepEqual(readTask(await client.getTask(task.id)), task);
          }),
        );
      });
    }

    test("R-015 R-017 a send waits for a task that takes its time, unless it is to return at once", async () => {
      await Promise.all(
        bed.clients.map(async (client) => {
          const send = async (returnImmediately: boolean): Promise<string> =>
            taskIn(await client.send(triggered("tck-delayed-complete", client), { returnImmediately })).state;
          const [waited, atOnce] = await Promise.all([send(false), send(true)]);
          assert.equal(waited, "COMPLETED");
          assert.match(atOnce, /^(SUBMITTED|WORKING)$/);
        }),
      );
    });

    test("tck-message-response: a message, and no task", async () => {
      for (const client of bed.clients) {
        const message = triggered("tck-message-response", client);
        const replies = [await client.send(message), ...(await framesOf(client.stream(message)))];
        assert.equal(replies.length, 2);
        for (const reply of replies) {
          const { role, parts, taskId } = reply["message"] as { role: string; parts: JsonValue; taskId?: string };
          assert.deepEqual([role, parts, taskId], ["ROLE_AGENT", [{ text: "Direct message response" }], undefined]);
        }
      }
    });

    test("any other id: COMPLETED with a text that names it; a stream has it too, and ends", async () => {
      for (const client of bed.clients) {
        for (const prefix of OTHERS) {
          const message = triggered(prefix, client);
          const task = taskIn(await client.send(message));
          assert.deepEqual([task.state, task.says], ["COMPLETED", `Handled ${message["messageId"] as string}`]);
        }
        const streamed = await framesOf(client.stream(triggered("tck-sse-streaming-001", client)));
        assert.deepEqual(outline(streamed), ["task SUBMITTED", "status COMPLETED"]);
      }
    });

    test("the same id again begins another task, whatever became of the first", async () => {
      for (const client of bed.clients) {
        const message = triggered("tck-complete-task", client);
        const tasks = [taskIn(await client.send(message)), taskIn(await client.send(message))];
        for (const frame of await framesOf(client.stream(message))) if ("task" in frame) tasks.push(readTask(frame["task"]));
        assert.equal(new Set(tasks.map(({ id }) => id)).size, 3);
      }
    });

    test("a question stays one as its own follow-up, and tck-complete-task answers it", async () => {
      for (const client of bed.clients) {
        const { id: taskId, contextId } = taskIn(await client.send(triggered("tck-input-required", client)));
        const again = taskIn(await client.send(triggered("tck-input-required", client, { taskId, contextId })));
        assert.deepEqual([again.id, again.state], [taskId, "INPUT_REQUIRED"]);
        const frames = await framesOf(client.stream(triggered("tck-complete-task", client, { taskId })));
        assert.deepEqual(outline(frames), ["task WORKING", "status COMPLETED"]);
        const done = readTask(await client.getTask(taskId));
        assert.deepEqual([done.contextId, done.state, done.says], [contextId, "COMPLETED", "Hello from TCK"]);
      }
    });

    test("a cancel ends a task at once, asked or working, and is refused when it has ended", async () => {
      for (const client of bed.clients) {
        const { id } = taskIn(await client.send(triggered("tck-input-required", client)));
        assert.equal(readTask(await client.cancelTask(id)).state, "CANCELED");
        assert.equal(await reasonOf(client.cancelTask(id)), "TASK_NOT_CANCELABLE");

        const stream = client.stream(triggered("test-resubscribe-message-id", client));
        const { id: working } = readTask((await next(stream))["task"] as JsonValue);
        assert.equal(outline([await next(stream)])[0], "status WORKING");
        assert.equal(readTask(await client.cancelTask(working)).state, "CANCELED");
        assert.deepEqual(outline(await framesOf(stream)), ["status CANCELED"]);
      }
    });
  });
}
