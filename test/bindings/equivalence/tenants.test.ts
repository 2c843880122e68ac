import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { collect, everywhere, failureOf, openBed, send, sharedBed, taskOf } from "../bed.ts";
import type { Caller, CallOptions, Stream } from "../callers/caller.ts";
import { checkFailure } from "../failures.ts";
import { call, OPERATIONS } from "../matrix/operations.ts";

/** No operation is refused for another reason before its tenant is judged. */
const PUSH = { push: { enabled: true } };

/** Every operation, with a tenant. */
function calls(caller: Caller, tenant: JsonObject, options: CallOptions = {}): (Promise<unknown> | Stream)[] {
  return OPERATIONS.map((operation) => call(caller, operation, { ...operation.request("none"), ...tenant }, options));
}

suite("tenants that are off", () => {
  const bed = sharedBed(PUSH);

  everywhere("R-303 make a tenant in a request bad input", bed, async (caller) => {
    const failures = await Promise.all(calls(caller, { tenant: "acme" }).map(failureOf));
    return failures.map((failure) => checkFailure(caller, failure, "INVALID_ARGUMENT", ["tenant"]));
  });

  everywhere("R-303 make a tenant in a header bad input", bed, async (caller) => {
    const failures = await Promise.all(calls(caller, {}, { headers: { "a2a-tenant": "acme" } }).map(failureOf));
    return failures.map((failure) => checkFailure(caller, failure, "INVALID_ARGUMENT", ["tenant"]));
  });

  everywhere("take an empty one as none", bed, async (caller) => {
    await caller.unary("ListTasks", { tenant: "" });
    return undefined;
  });

  test("P-45 have no routes on HTTP+JSON", async () => {
    const { rest } = bed();
    for (const failure of await Promise.all(calls(rest, {}, { pathTenant: "acme" }).map(failureOf))) {
      assert.deepEqual([failure.httpStatus, failure.reason], [404, "PATH_NOT_FOUND"]);
    }
  });
});

for (const tenants of ["any", ["acme", "umbrella", "a/b c"]] as const) {
  suite(`tenants: ${JSON.stringify(tenants)}`, () => {
    const bed = sharedBed({ ...PUSH, tenants: tenants as "any" });

    everywhere("C-53 are named by path, field or header; where two of them name one, it is the same", bed, async (caller) => {
      const contextId = crypto.randomUUID();
      const headers = { "a2a-tenant": "acme" };
      const { id } = taskOf(await caller.unary("SendMessage", send("input", { message: { contextId } }), { headers }));
      const both = [
        await caller.unary("GetTask", { id }, { headers }),
        await caller.unary("GetTask", { id, tenant: "acme" }, { headers }),
        await caller.unary("GetTask", { id }, { headers, pathTenant: "acme" }),
        await caller.unary("GetTask", { id, tenant: "acme" }),
      ];
      for (const { message } of both) assert.deepEqual(message, both[0]?.message);
      const strange = [
        caller.unary("GetTask", { id, tenant: "umbrella" }, { headers }),
        caller.unary("GetTask", { id }, { headers, pathTenant: "umbrella" }),
      ];
      const failures = await Promise.all(strange.map(failureOf));
      return failures.map((failure) => checkFailure(caller, failure, "INVALID_ARGUMENT", ["tenant"]));
    });

    everywhere("R-303 R-304 R-305 R-366 keep their tasks apart, by path as by field", bed, async (caller) => {
      const contextId = crypto.randomUUID();
      const asked = send("input", { message: { contextId } });
      const { id } = taskOf(await caller.unary("SendMessage", asked, { pathTenant: "acme" }));
      const seen = [];
      for (const options of [{ pathTenant: "acme" }, {}]) {
        const tenant = "pathTenant" in options ? {} : { tenant: "acme" };
        seen.push((await caller.unary("GetTask", { id, ...tenant }, options)).message);
        seen.push((await caller.unary("ListTasks", { contextId, ...tenant }, options)).message);
      }
      assert.deepEqual(seen.slice(0, 2), seen.slice(2));
      assert.equal((seen[1] as JsonObject)["totalSize"], 1);
      for (const options of [{ pathTenant: "umbrella" }, {}]) {
        const strange = [
          caller.unary("GetTask", { id }, options),
          caller.unary("CancelTask", { id }, options),
          caller.stream("SubscribeToTask", { id }, options),
          caller.unary("SendMessage", send("complete", { message: { taskId: id } }), options),
        ];
        for (const failure of await Promise.all(strange.map(failureOf))) checkFailure(caller, failure, "TASK_NOT_FOUND");
        assert.equal((await caller.unary("ListTasks", { contextId }, options)).message["totalSize"], undefined);
      }
      const { frames } = await collect(
        caller.stream("SendStreamingMessage", send("complete", { message: { taskId: id } }), { pathTenant: "acme" }),
      );
      assert.equal(frames.length, 3);
      return [...seen, frames];
    });

    everywhere("R-305 C-53 are decoded from one path segment", bed, async (caller) => {
      const reply = await caller.unary("SendMessage", send("return"), { pathTenant: "a/b c" });
      const read = await caller.unary("GetTask", { id: taskOf(reply).id, tenant: "a/b c" });
      return read.message;
    });

    everywhere("C-53 may be named twice if alike", bed, async (caller) => {
      await caller.unary("ListTasks", { tenant: "acme" }, { pathTenant: "acme" });
      await caller.unary("SendMessage", { ...send("return"), tenant: "acme" }, { pathTenant: "acme" });
      return undefined;
    });

    test("C-53 in the path must be the one in the body or the query", async () => {
      const { rest } = bed();
      const failures = await Promise.all(calls(rest, { tenant: "umbrella" }, { pathTenant: "acme" }).map(failureOf));
      for (const failure of failures) checkFailure(rest, failure, "INVALID_ARGUMENT", ["tenant"]);
    });

    everywhere("C-53 may not have the name of a route", bed, async (caller) => {
      const failures = await Promise.all(calls(caller, { tenant: "tasks" }).map(failureOf));
      return failures.map((failure) => checkFailure(caller, failure, "TENANT_NOT_FOUND"));
    });

    test("C-53 lose against routes without a tenant", async () => {
      const { rest } = bed();
      const reply = await rest.http.fetch({
        method: "GET",
        target: "/tasks/tasks/pushNotificationConfigs",
        headers: [["a2a-version", "1.0"]],
      });
      assert.match(reply.text, /TASK_NOT_FOUND/);
    });
  });
}

suite("a list of tenants", () => {
  const bed = sharedBed({ ...PUSH, tenants: ["acme"] });

  everywhere("R-303 C-53 makes all others not found", bed, async (caller) => {
    const failures = [
      ...(await Promise.all(calls(caller, { tenant: "umbrella" }).map(failureOf))),
      ...(await Promise.all(calls(caller, {}, { pathTenant: "umbrella" }).map(failureOf))),
    ];
    assert.deepEqual(failures[0]?.metadata, { tenant: "umbrella" });
    return failures.map((failure) => checkFailure(caller, failure, "TENANT_NOT_FOUND"));
  });
});

test("R-299 a prefix comes before routes and tenants", async () => {
  await using bed = await openBed({ restPrefix: "/api/v1", tenants: "any" });
  const { rest } = bed;
  const { id } = taskOf(await rest.unary("SendMessage", send("return"), { pathTenant: "acme" }));
  await rest.unary("GetTask", { id, tenant: "acme" });
  const { http } = rest;
  for (const target of ["/tasks", "/api/tasks", "/api/v1/tasks/"]) {
    assert.equal((await http.fetch({ method: "GET", target, headers: [["a2a-version", "1.0"]] })).status, 404, target);
  }
  assert.equal(bed.server.card.supportedInterfaces[1]?.url, `http://127.0.0.1:${bed.server.ports.http}/api/v1`);
});
