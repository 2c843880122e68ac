import assert from "node:assert/strict";
import { suite } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { everywhere, failureOf, send, sharedBed } from "../bed.ts";
import type { Caller, CallOptions, Failure } from "../callers/caller.ts";
import { checkFailure } from "../failures.ts";

/** What each operation answers here once its version was found good; undefined: a reply. */
const OPERATIONS: Readonly<Record<string, readonly [request: () => JsonObject, reason: string | undefined]>> = {
  SendMessage: [() => send("complete"), undefined],
  SendStreamingMessage: [() => send("complete"), undefined],
  GetTask: [() => ({ id: "none" }), "TASK_NOT_FOUND"],
  ListTasks: [() => ({ contextId: "none" }), undefined],
  CancelTask: [() => ({ id: "none" }), "TASK_NOT_FOUND"],
  SubscribeToTask: [() => ({ id: "none" }), "TASK_NOT_FOUND"],
  CreateTaskPushNotificationConfig: [() => ({ taskId: "none", url: "https://example.com" }), "PUSH_NOTIFICATION_NOT_SUPPORTED"],
  GetTaskPushNotificationConfig: [() => ({ taskId: "none", id: "c" }), "PUSH_NOTIFICATION_NOT_SUPPORTED"],
  ListTaskPushNotificationConfigs: [() => ({ taskId: "none" }), "PUSH_NOTIFICATION_NOT_SUPPORTED"],
  DeleteTaskPushNotificationConfig: [() => ({ taskId: "none", id: "c" }), "PUSH_NOTIFICATION_NOT_SUPPORTED"],
  GetExtendedAgentCard: [() => ({}), "UNSUPPORTED_OPERATION"],
};
const SUPPORTED = ["1.0", "1.0.7"];
const REFUSED = [undefined, "", "0.3", "1", "2.0", "99.0", "1.1", "1.0.x", "v1.0", "one", "1.0, 1.0", ["1.0", "0.3"]];

/** The reason a call fails with; undefined where it succeeds. */
async function outcome(caller: Caller, name: string, options: CallOptions): Promise<Failure | undefined> {
  const [request] = OPERATIONS[name] as (typeof OPERATIONS)[string];
  const streaming = A2AService.methods.find((method) => method.name === name)?.methodKind === "server_streaming";
  const call = streaming ? caller.stream(name, request(), options) : caller.unary(name, request(), options);
  try {
    if ("next" in call) {
      await call.next();
      call.leave();
    } else await call;
    return undefined;
  } catch {
    return failureOf(streaming ? caller.stream(name, request(), options) : caller.unary(name, request(), options));
  }
}

suite("A2A-Version", () => {
  const bed = sharedBed();

  for (const { name } of A2AService.methods) {
    const reason = OPERATIONS[name]?.[1];

    everywhere(`R-001 R-191 R-193 R-196 C-12 PR-05 of 1.0, whatever its patch, is served: ${name}`, bed, async (caller) => {
      for (const version of SUPPORTED) {
        const failure = await outcome(caller, name, { headers: { "a2a-version": version } });
        assert.equal(failure?.reason, reason, version);
      }
      return undefined;
    });

    everywhere(
      `R-192 R-197 R-198 R-204 R-229 C-07 C-11 C-12 P-26 P-46 PR-05 of anything else is refused, with what is supported: ${name}`,
      bed,
      async (caller) => {
        const failures = [];
        for (const version of REFUSED) {
          const failure = await outcome(caller, name, { headers: { "a2a-version": version } });
          assert.ok(failure !== undefined, `${JSON.stringify(version)} was taken`);
          failures.push(checkFailure(caller, failure, "VERSION_NOT_SUPPORTED"));
          assert.equal(failure.metadata["supportedVersions"], "1.0");
          assert.match(failure.message, /A2A-Version: 1\.0/);
        }
        return failures;
      },
    );

    everywhere(`R-195 R-206 C-11 P-46 PR-05 may be a query parameter where there are queries: ${name}`, bed, async (caller) => {
      if (caller.binding === "grpc") return undefined;
      const without = { "a2a-version": undefined };
      const asQuery = async (query: string, headers = {}): Promise<Failure | undefined> =>
        outcome(caller, name, { query, headers: { ...without, ...headers } });
      for (const query of ["A2A-Version=1.0", "a2a-version=1.0.3"]) assert.equal((await asQuery(query))?.reason, reason, query);
      for (const query of ["A2A-Version=0.3", "A2A-Version="]) assert.equal((await asQuery(query))?.reason, "VERSION_NOT_SUPPORTED", query);
      assert.equal((await asQuery("A2A-Version=1.0", { "a2a-version": "1.0" }))?.reason, reason);
      assert.equal((await asQuery("A2A-Version=1.0.1", { "a2a-version": "1.0.2" }))?.reason, reason);
      assert.equal((await asQuery("A2A-Version=1.0", { "a2a-version": "" }))?.reason, reason);
      const differing = await asQuery("A2A-Version=0.3", { "a2a-version": "1.0" });
      assert.ok(differing !== undefined);
      checkFailure(caller, differing, "INVALID_ARGUMENT", ["A2A-Version"]);
      return undefined;
    });
  }

  everywhere("R-196 is judged before the fields of the request", bed, async (caller) => {
    const headers = { "a2a-version": "0.3" };
    const failures = [
      await failureOf(caller.unary("SendMessage", {}, { headers })),
      await failureOf(caller.unary("ListTasks", { status: 99, pageSize: 0 }, { headers })),
    ];
    // What only ProtoJSON can say wrong: a body of version 0.3.
    const old = { message: { kind: "message", role: "user", parts: [{ kind: "text", text: "hi" }] } };
    if (caller.binding !== "grpc")
      checkFailure(caller, await failureOf(caller.unary("SendMessage", old, { headers })), "VERSION_NOT_SUPPORTED");
    return failures.map((failure) => checkFailure(caller, failure, "VERSION_NOT_SUPPORTED"));
  });
});

suite("assumeVersion", () => {
  const bed = sharedBed({ assumeVersion: "1.0" });

  for (const { name } of A2AService.methods) {
    everywhere(`C-11 serves a call that names no version, and no other: ${name}`, bed, async (caller) => {
      const reason = OPERATIONS[name]?.[1];
      for (const version of [undefined, "", "1.0"]) {
        const failure = await outcome(caller, name, { headers: { "a2a-version": version } });
        assert.equal(failure?.reason, reason, version);
      }
      const refused: CallOptions[] = ["0.3", "99.0", "nonsense"].map((version) => ({ headers: { "a2a-version": version } }));
      if (caller.binding !== "grpc") refused.push({ headers: { "a2a-version": undefined }, query: "A2A-Version=0.3" });
      const failures = [];
      for (const options of refused) failures.push(await outcome(caller, name, options));
      for (const failure of failures) checkFailure(caller, failure ?? assert.fail("it was served"), "VERSION_NOT_SUPPORTED");
      return undefined;
    });
  }
});
