import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { everywhere, failureOf, send, sharedBed, startTask } from "../bindings/bed.ts";
import type { Caller, CallOptions } from "../bindings/callers/caller.ts";
import { checkFailure, type PlainFailure } from "../bindings/failures.ts";

const as = (token: string): CallOptions => ({ headers: { authorization: `Bearer ${token}` } });
const URL = "https://example.org/";

/** A page token, its opposite encodings and lengths, and what is none at all. */
function mangled(token: string): string[] {
  const text = Buffer.from(token, "base64url").toString("latin1");
  const [version, sum, place] = text.split("|") as [string, string, string];
  const again = (...parts: readonly string[]): string => Buffer.from(parts.join("|"), "latin1").toString("base64url");
  return [
    token.slice(0, -1),
    token.slice(1),
    `${token}A`,
    `${token}=`,
    `${token} `,
    ` ${token}`,
    `${token}\n`,
    token.toUpperCase(),
    token.split("").toReversed().join(""),
    text,
    encodeURIComponent(text),
    Buffer.from(text, "latin1").toString("hex"),
    again("2", sum, place),
    again(version, "0".repeat(16), place),
    again(version, sum, `${place}0`),
    again(version, sum, place.slice(0, -1)),
    again(version, sum, ""),
    again(version, sum, "%zz"),
    again(version, sum),
    again(version, sum, place, ""),
    "x".repeat(9000),
    "\u0000",
    "💥",
    "__proto__",
    "null",
    "0",
    "../..",
    "' OR 1=1 --",
    "*",
  ];
}

suite("a page token", () => {
  const tokens = { a: "alice", b: "bob" };
  const bed = sharedBed({ tokens, tenants: ["one", "two"], push: { enabled: true } });
  const list = (caller: Caller, request: JsonObject, who = "a"): Promise<JsonObject> =>
    caller.unary("ListTasks", request, as(who)).then(({ message }) => message);
  const refused = async (call: Promise<unknown>, caller: Caller): Promise<PlainFailure> =>
    checkFailure(caller, await failureOf(call), "INVALID_ARGUMENT", ["pageToken"]);

  /** Tasks of a new context, and the token after the first of them. */
  const paged = async (caller: Caller, tenant = "one"): Promise<{ contextId: string; token: string }> => {
    const contextId = crypto.randomUUID();
    for (let at = 0; at < 3; at += 1) await caller.unary("SendMessage", { ...send("return", { message: { contextId } }), tenant }, as("a"));
    const { nextPageToken } = await list(caller, { tenant, contextId, pageSize: 1 });
    return { contextId, token: nextPageToken as string };
  };

  everywhere("that was changed in any way is bad input, and the list goes on with the right one", bed, async (caller) => {
    const { contextId, token } = await paged(caller);
    const request = { tenant: "one", contextId, pageSize: 1 };
    const failures = [];
    for (const pageToken of mangled(token)) failures.push(await refused(list(caller, { ...request, pageToken }), caller));
    const next = await list(caller, { ...request, pageToken: token });
    assert.equal((next["tasks"] as unknown[]).length, 1);
    return failures;
  });

  everywhere("R-366 of another caller, tenant, filter or list is bad input", bed, async (caller) => {
    const { contextId, token: pageToken } = await paged(caller);
    const id = await startTask(caller, "return", { tenant: "one" }).catch(() => "");
    assert.equal(id, "", "nobody sends without credentials");
    const own = { tenant: "one", contextId, pageToken };
    const calls = [
      list(caller, own, "b"),
      list(caller, { ...own, tenant: "two" }),
      list(caller, { tenant: "one", pageToken }),
      list(caller, { ...own, contextId: `${contextId}x` }),
      list(caller, { ...own, status: "TASK_STATE_COMPLETED" }),
      list(caller, { ...own, statusTimestampAfter: "2020-01-01T00:00:00Z" }),
    ];
    const failures = [];
    for (const call of calls) failures.push(await refused(call, caller));
    return failures;
  });

  everywhere("of another task's webhooks, or of tasks, is none of a list of webhooks", bed, async (caller) => {
    const { contextId, token } = await paged(caller);
    const tasks = (await list(caller, { tenant: "one", contextId }))["tasks"] as unknown as { id: string }[];
    const [first = "", second = ""] = tasks.map(({ id }) => id);
    for (const taskId of [first, second])
      for (const id of ["1", "2"]) await caller.unary("CreateTaskPushNotificationConfig", { tenant: "one", taskId, id, url: URL }, as("a"));
    const configs = (request: JsonObject): Promise<JsonObject> =>
      caller.unary("ListTaskPushNotificationConfigs", { tenant: "one", ...request }, as("a")).then(({ message }) => message);
    const own = (await configs({ taskId: first, pageSize: 1 }))["nextPageToken"] as string;
    assert.equal((await configs({ taskId: first, pageToken: own }))["nextPageToken"], undefined);
    const failures = [await refused(configs({ taskId: second, pageToken: own }), caller)];
    failures.push(await refused(configs({ taskId: first, pageToken: token }), caller));
    for (const pageToken of mangled(own)) failures.push(await refused(configs({ taskId: first, pageToken }), caller));
    failures.push(await refused(list(caller, { tenant: "one", contextId, pageToken: own }), caller));
    return failures;
  });

  test("that is any text at all is bad input", async () => {
    const { grpc } = bed();
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string({ unit: "binary" }),
          fc.base64String(),
          fc.uint8Array().map((bytes) => Buffer.from(bytes).toString("base64url")),
        ),
        async (pageToken) => {
          if (pageToken !== "") await refused(list(grpc, { tenant: "one", pageToken: pageToken.toWellFormed() }), grpc);
        },
      ),
      { numRuns: 200 },
    );
  });
});
