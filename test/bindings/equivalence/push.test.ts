import assert from "node:assert/strict";
import { suite } from "node:test";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { everywhere, failureOf, nextFrame, send, sharedBed, startTask, stateOf, taskOf } from "../bed.ts";
import type { Caller } from "../callers/caller.ts";
import { checkFailure } from "../failures.ts";

const URL = "https://example.com/hook";
const AUTHENTICATION = { scheme: "Bearer", credentials: "s3cret" };

async function create(caller: Caller, taskId: string, config: JsonObject = {}): Promise<JsonObject> {
  return (await caller.unary("CreateTaskPushNotificationConfig", { taskId, url: URL, ...config })).message;
}

async function list(caller: Caller, taskId: string, page: JsonObject = {}): Promise<JsonObject> {
  return (await caller.unary("ListTaskPushNotificationConfigs", { taskId, ...page })).message;
}

function idsOf({ configs }: JsonObject): (JsonValue | undefined)[] {
  return ((configs ?? []) as JsonObject[]).map(({ id }) => id);
}

suite("push notifications", () => {
  const bed = sharedBed({ push: { enabled: true, maxConfigs: 3 } });

  everywhere(
    "R-096 R-098 R-100 R-106 C-62 C-64 a webhook is kept as it was registered, under its own id or a new one",
    bed,
    async (caller) => {
      const taskId = await startTask(caller, "input");
      const full = { id: "mine", url: `${URL}?a=1`, token: "t0ken", authentication: AUTHENTICATION };
      const stored = await create(caller, taskId, full);
      assert.deepEqual(stored, { ...full, taskId });
      const plain = await create(caller, taskId);
      assert.match(plain["id"] as string, /^[0-9a-f-]{36}$/);
      assert.deepEqual({ ...plain, id: "" }, { id: "", taskId, url: URL });
      for (const config of [stored, plain]) {
        const id = config["id"] as string;
        assert.deepEqual((await caller.unary("GetTaskPushNotificationConfig", { taskId, id })).message, config);
      }
      assert.deepEqual((await list(caller, taskId))["configs"], [plain, stored]);
      return plain;
    },
  );

  everywhere("C-62 C-63 the same id again takes the place of the first, on a task that has ended too", bed, async (caller) => {
    const { id: taskId } = taskOf(await caller.unary("SendMessage", send("complete")));
    await create(caller, taskId, { id: "mine", token: "old" });
    await create(caller, taskId, { id: "mine", url: "https://other.example/" });
    const listed = await list(caller, taskId);
    assert.deepEqual(listed["configs"], [{ id: "mine", taskId, url: "https://other.example/" }]);
    return listed;
  });

  everywhere("R-103 R-104 C-22 C-28 a deleted webhook is gone; deleting it again is no error, getting it is one", bed, async (caller) => {
    const taskId = await startTask(caller, "input");
    await create(caller, taskId, { id: "mine" });
    for (const id of ["mine", "mine", "never"]) {
      assert.deepEqual((await caller.unary("DeleteTaskPushNotificationConfig", { taskId, id })).message, {});
    }
    assert.deepEqual(idsOf(await list(caller, taskId)), []);
    const failure = await failureOf(caller.unary("GetTaskPushNotificationConfig", { taskId, id: "mine" }));
    assert.deepEqual(failure.metadata, { taskId, configId: "mine" });
    return checkFailure(caller, failure, "TASK_NOT_FOUND");
  });

  everywhere("R-101 lists come in pages, by id, and a token is good for its own list only", bed, async (caller) => {
    const [taskId, other] = [await startTask(caller, "input"), await startTask(caller, "input")];
    for (const id of ["c", "ä|b", "a"]) await create(caller, taskId, { id });
    const seen: (JsonValue | undefined)[] = [];
    let pageToken = "";
    do {
      const page = await list(caller, taskId, { pageSize: 1, pageToken });
      seen.push(...idsOf(page));
      pageToken = (page["nextPageToken"] ?? "") as string;
      if (pageToken === "") break;
      const failures = [
        await failureOf(caller.unary("ListTaskPushNotificationConfigs", { taskId: other, pageToken })),
        await failureOf(caller.unary("ListTaskPushNotificationConfigs", { taskId, pageToken: `${pageToken}x` })),
      ];
      for (const failure of failures) checkFailure(caller, failure, "INVALID_ARGUMENT", ["pageToken"]);
    } while (pageToken !== "");
    assert.deepEqual(seen, ["a", "c", "ä|b"]);
    assert.deepEqual(idsOf(await list(caller, taskId)), seen);
    return seen;
  });

  everywhere("R-095 R-099 R-102 R-105 no operation knows a webhook of a task that is not there", bed, async (caller) => {
    const taskId = crypto.randomUUID();
    const calls = [
      caller.unary("CreateTaskPushNotificationConfig", { taskId, url: URL }),
      caller.unary("GetTaskPushNotificationConfig", { taskId, id: "a" }),
      caller.unary("ListTaskPushNotificationConfigs", { taskId }),
      caller.unary("DeleteTaskPushNotificationConfig", { taskId, id: "a" }),
    ];
    const failures = await Promise.all(calls.map(failureOf));
    return failures.map((failure) => checkFailure(caller, failure, "TASK_NOT_FOUND"));
  });

  everywhere("R-237 R-251 PR-06 what could not be used is refused, field by field, and nothing is kept", bed, async (caller) => {
    const taskId = await startTask(caller, "input");
    const bad: readonly (readonly [JsonObject, string])[] = [
      [{ url: "" }, "url"],
      [{ url: "not a url" }, "url"],
      [{ url: "/relative" }, "url"],
      [{ url: "ftp://example.com/" }, "url"],
      [{ url: "http:example.com" }, "url"],
      [{ url: "https://user:secret@example.com/" }, "url"],
      [{ url: `https://example.com/${"a".repeat(2048)}` }, "url"],
      [{ token: "a\nb" }, "token"],
      [{ token: "é" }, "token"],
      [{ id: "i".repeat(513) }, "id"],
      [{ authentication: { credentials: "c" } }, "authentication.scheme"],
      [{ authentication: { scheme: "two words" } }, "authentication.scheme"],
      [{ authentication: { scheme: "Bearer", credentials: "a\r\nb" } }, "authentication.credentials"],
    ];
    const failures = [];
    for (const [config, field] of bad) {
      const failure = await failureOf(caller.unary("CreateTaskPushNotificationConfig", { taskId, url: URL, ...config }));
      failures.push(checkFailure(caller, failure, "INVALID_ARGUMENT", [field]));
      const path = `configuration.taskPushNotificationConfig.${field}`;
      const request = send("complete", { configuration: { taskPushNotificationConfig: { url: URL, ...config } } });
      checkFailure(caller, await failureOf(caller.unary("SendMessage", request)), "INVALID_ARGUMENT", [path]);
    }
    assert.deepEqual(idsOf(await list(caller, taskId)), []);
    return failures;
  });

  everywhere("page sizes are 1 to 100, and both names are asked for", bed, async (caller) => {
    const taskId = await startTask(caller, "input");
    for (const pageSize of [-1, 101]) {
      const failure = await failureOf(caller.unary("ListTaskPushNotificationConfigs", { taskId, pageSize }));
      checkFailure(caller, failure, "INVALID_ARGUMENT", ["pageSize"]);
    }
    if (caller.binding === "rest") return undefined;
    for (const method of ["GetTaskPushNotificationConfig", "DeleteTaskPushNotificationConfig"]) {
      checkFailure(caller, await failureOf(caller.unary(method, {})), "INVALID_ARGUMENT", ["taskId", "id"]);
    }
    return undefined;
  });

  everywhere("a task has as many webhooks as the server allows, and no more", bed, async (caller) => {
    const taskId = await startTask(caller, "input");
    for (const id of ["a", "b", "c"]) await create(caller, taskId, { id });
    const failures = [await failureOf(caller.unary("CreateTaskPushNotificationConfig", { taskId, url: URL, id: "d" }))];
    const more = { message: { taskId }, configuration: { taskPushNotificationConfig: { url: URL } } };
    failures.push(await failureOf(caller.unary("SendMessage", send("complete", more))));
    assert.equal(stateOf((await caller.unary("GetTask", { id: taskId })).message), "TASK_STATE_INPUT_REQUIRED");
    await create(caller, taskId, { id: "b", token: "new" });
    assert.deepEqual(idsOf(await list(caller, taskId)), ["a", "b", "c"]);
    return failures.map((failure) => checkFailure(caller, failure, "RESOURCE_EXHAUSTED"));
  });

  everywhere(
    "R-018 R-021 R-107 C-27 a webhook that comes with a send is kept with its task, also where it names the task itself",
    bed,
    async (caller) => {
      const configuration = { taskPushNotificationConfig: { url: URL, token: "t" }, returnImmediately: true };
      const { id: taskId } = taskOf(await caller.unary("SendMessage", send("input", { configuration })));
      const [first, ...none] = (await list(caller, taskId))["configs"] as JsonObject[];
      assert.deepEqual([{ ...first, id: "" }, none], [{ id: "", taskId, url: URL, token: "t" }, []]);
      const watch = caller.stream("SubscribeToTask", { id: taskId });
      let shown = await nextFrame(watch);
      while (stateOf((shown["task"] ?? shown["statusUpdate"]) as JsonObject) !== "TASK_STATE_INPUT_REQUIRED")
        shown = await nextFrame(watch);
      watch.leave();
      const second = { taskPushNotificationConfig: { url: URL, id: "second", taskId } };
      for await (const _ of caller.stream("SendStreamingMessage", send("complete", { message: { taskId }, configuration: second })));
      assert.deepEqual(new Set(idsOf(await list(caller, taskId))), new Set([first?.["id"], "second"]));
      return undefined;
    },
  );

  everywhere("C-27 a webhook within a send cannot name another task", bed, async (caller) => {
    const taskId = await startTask(caller, "input");
    const configuration = { taskPushNotificationConfig: { url: URL, taskId } };
    const failures = [
      await failureOf(caller.unary("SendMessage", send("complete", { configuration }))),
      await failureOf(caller.stream("SendStreamingMessage", send("complete", { configuration }))),
    ];
    return failures.map((failure) =>
      checkFailure(caller, failure, "INVALID_ARGUMENT", ["configuration.taskPushNotificationConfig.taskId"]),
    );
  });
});

suite("push notifications, redacted", () => {
  const bed = sharedBed({ push: { enabled: true, redact: true } });

  everywhere("C-64 R-119 an operator may keep the secrets of webhooks out of every reply", bed, async (caller) => {
    const taskId = await startTask(caller, "input");
    const config = { id: "mine", url: URL, token: "t0ken", authentication: AUTHENTICATION };
    const shown = { id: "mine", taskId, url: URL, authentication: { scheme: "Bearer" } };
    assert.deepEqual(await create(caller, taskId, config), shown);
    assert.deepEqual((await caller.unary("GetTaskPushNotificationConfig", { taskId, id: "mine" })).message, shown);
    assert.deepEqual((await list(caller, taskId))["configs"], [shown]);
    return shown;
  });
});

suite("push notifications of known callers", () => {
  const bed = sharedBed({ push: { enabled: true }, tokens: { a: "alice", b: "bob" } });
  const [alice, bob] = [{ headers: { authorization: "Bearer a" } }, { headers: { authorization: "Bearer b" } }];

  everywhere("R-247 R-249 R-365 another's webhooks are as those of a task that is not there", bed, async (caller) => {
    const { id: taskId } = taskOf(await caller.unary("SendMessage", send("input"), alice));
    await caller.unary("CreateTaskPushNotificationConfig", { taskId, url: URL, id: "mine" }, alice);
    const outcomes = [];
    for (const task of [taskId, crypto.randomUUID()]) {
      const calls = [
        caller.unary("CreateTaskPushNotificationConfig", { taskId: task, url: URL }, bob),
        caller.unary("GetTaskPushNotificationConfig", { taskId: task, id: "mine" }, bob),
        caller.unary("ListTaskPushNotificationConfigs", { taskId: task }, bob),
        caller.unary("DeleteTaskPushNotificationConfig", { taskId: task, id: "mine" }, bob),
      ];
      const failures = await Promise.all(calls.map(failureOf));
      outcomes.push(
        failures.map((failure) => {
          const { reason, violations } = checkFailure(caller, failure, "TASK_NOT_FOUND");
          return { reason, violations };
        }),
      );
    }
    assert.deepEqual(outcomes[0], outcomes[1]);
    const { message } = await caller.unary("ListTaskPushNotificationConfigs", { taskId }, alice);
    assert.deepEqual(idsOf(message), ["mine"]);
    return outcomes;
  });
});
