import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { ROUTES } from "../bindings/callers/rest.ts";
import { checkFailure } from "../bindings/failures.ts";
import { assertServes, sharedHostileBed } from "./bed.ts";
import { assertClean } from "./surface.ts";
import { receivedOf, statusFailure } from "./surfaces/http.ts";

const VERBS = ["GET", "POST", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND", "QUERY"];
/** Verbs of one path: the proto's, and the twin of the stream that is read (C-01). */
const TAKEN: Record<string, string[]> = {};
for (const [name, [verb, path]] of Object.entries(ROUTES))
  (TAKEN[path] ??= []).push(...(name === "SubscribeToTask" ? ["GET", "POST"] : [verb]));

suite("a path of HTTP+JSON", () => {
  const bed = sharedHostileBed();
  const refused = async (
    verb: string,
    target: string,
    reason: string,
    fields: readonly string[] = [],
  ): Promise<ReadonlyMap<string, string>> => {
    const { rest } = bed();
    const reply = await rest.http.fetch({
      method: verb,
      target,
      headers: [["a2a-version", "1.0"]],
      body: verb === "POST" ? "{}" : undefined,
    });
    assertClean(receivedOf(reply));
    checkFailure(rest, statusFailure(reply), reason, fields);
    await assertServes(rest);
    return reply.headers;
  };

  for (const [path, taken] of Object.entries(TAKEN)) {
    test(`C-56 answers 405 with Allow to every verb that it does not take: ${path}`, async () => {
      const target = path.replaceAll(/\{\w+\}/g, "x");
      for (const verb of VERBS.filter((one) => !taken.includes(one))) {
        const headers = await refused(verb, target, "METHOD_NOT_ALLOWED");
        assert.deepEqual(headers.get("allow")?.split(", "), taken.toSorted());
      }
    });
  }

  const nowhere = [
    "/nothing",
    "//tasks",
    "/tasks/",
    "/tasks//pushNotificationConfigs",
    "/tasks/x/nothing",
    "/tasks/x/pushNotificationConfigs/y/z",
    "/tasks/x/pushNotificationConfigs/",
    "/message:send/",
    "/message%3Asend",
    "/message:",
    "/message:send:send",
    "/message/send",
    "/:send",
    "/MESSAGE:SEND",
    "/tasks%2Fx",
    "/tasks;a=b",
    "/v1/tasks",
    "/a/tasks",
    "/a/message:send",
    "/a/extendedAgentCard",
    "/..%2ftasks",
    "/../tasks",
    "/%2e%2e/tasks",
    "/tasks/../../etc/passwd",
    "/%",
    "/%zz",
    "/%ff%fe",
    "/%00",
    `/${"a/".repeat(4000)}`,
    `/${"%2f".repeat(4000)}`,
    "/.git/config",
    "/package.json",
    "/src/index.ts",
    "/.well-known/agent.json",
    "/.well-known/agent-card.json/x",
    "/jsonrpc/x",
    "/lf.a2a.v1.A2AServiceX/SendMessage",
  ];
  for (const target of nowhere) {
    test(`is none, and no file, no redirect and no page: ${target.slice(0, 40)}`, async () => {
      for (const verb of ["GET", "POST", "DELETE"]) await refused(verb, target, "PATH_NOT_FOUND");
    });
  }

  for (const escape of ["%", "%4", "%zz", "%u0041", "%C3", "%FF", "%C0%AF", "%E0%80%AF", "%ED%A0%80", "%F4%90%80%80", "a%", "%25%"]) {
    test(`names the field whose escapes are no UTF-8: ${escape}`, async () => {
      await refused("GET", `/tasks/${escape}`, "INVALID_ARGUMENT", ["id"]);
      await refused("POST", `/tasks/${escape}:cancel`, "INVALID_ARGUMENT", ["id"]);
      await refused("GET", `/tasks/${escape}/pushNotificationConfigs`, "INVALID_ARGUMENT", ["taskId"]);
      await refused("DELETE", `/tasks/x/pushNotificationConfigs/${escape}`, "INVALID_ARGUMENT", ["id"]);
      await refused("GET", `/tasks?contextId=${escape}`, "INVALID_ARGUMENT", ["contextId"]);
    });
  }

  for (const id of [
    "%00",
    "%2F",
    "%2e%2e",
    "%2e%2e%2f",
    "%0d%0a",
    "a%20b",
    "x:cancel:y",
    "x%3Acancel",
    "%25zz",
    "%E2%80%A8",
    "~",
    "'",
    "%7B%7D",
    "*",
    "**",
    "%5C",
  ]) {
    test(`decodes what stands for an id once, and only once: ${id}`, async () => {
      const reply = await bed().rest.http.fetch({ method: "GET", target: `/tasks/${id}`, headers: [["a2a-version", "1.0"]] });
      assertClean(receivedOf(reply));
      const failure = statusFailure(reply);
      checkFailure(bed().rest, failure, "TASK_NOT_FOUND");
      assert.equal(failure.metadata["taskId"], decodeURIComponent(id));
    });
  }

  test("R-298 with a verb that is none is a task's id with a colon", async () => {
    const headers = await refused("GET", "/tasks/x:nothing", "TASK_NOT_FOUND");
    assert.equal(headers.get("allow"), undefined);
    await refused("GET", "/tasks/:cancel", "TASK_NOT_FOUND");
  });

  test("takes thousands of parameters, and none that leads into a message", async () => {
    const many = Array.from({ length: 1500 }, (_, at) => `p${at}=`).join("&");
    const reply = await bed().rest.http.fetch({
      method: "GET",
      target: `/tasks?${many}&contextId=none`,
      headers: [["a2a-version", "1.0"]],
    });
    assert.equal(reply.status, 200);
    await refused("GET", `/tasks?${"pageSize=1&".repeat(1000)}`, "INVALID_ARGUMENT", ["pageSize"]);
    await refused("GET", "/tasks?status[]=x&pageSize=0", "INVALID_ARGUMENT", ["pageSize"]);
  });

  test("C-54 that says another task than its body is refused", async () => {
    const { rest, targets } = bed();
    const reply = await rest.http.fetch({
      method: "POST",
      target: `/tasks/${targets.taskId}:cancel`,
      headers: [["a2a-version", "1.0"]],
      body: '{"id":"other"}',
    });
    checkFailure(rest, statusFailure(reply), "INVALID_ARGUMENT", ["id"]);
  });
});
