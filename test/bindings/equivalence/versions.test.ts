import assert from "node:assert/strict";
import { suite } from "node:test";
import { everywhere, failureOf, sharedBed } from "../bed.ts";
import { CallFailed, type Caller, type CallOptions, type Failure } from "../callers/caller.ts";
import { checkFailure } from "../failures.ts";
import { call, type Operation, OPERATIONS } from "../matrix/operations.ts";

/** What each operation answers here once its version was found good, about a task that there is not; undefined: a reply. */
const REASONS: Readonly<Record<string, string | undefined>> = {
  GetTask: "TASK_NOT_FOUND",
  CancelTask: "TASK_NOT_FOUND",
  SubscribeToTask: "TASK_NOT_FOUND",
  CreateTaskPushNotificationConfig: "PUSH_NOTIFICATION_NOT_SUPPORTED",
  GetTaskPushNotificationConfig: "PUSH_NOTIFICATION_NOT_SUPPORTED",
  ListTaskPushNotificationConfigs: "PUSH_NOTIFICATION_NOT_SUPPORTED",
  DeleteTaskPushNotificationConfig: "PUSH_NOTIFICATION_NOT_SUPPORTED",
  GetExtendedAgentCard: "UNSUPPORTED_OPERATION",
};
const SUPPORTED = ["1.0", "1.0.7"];
const REFUSED = [undefined, "", "0.3", "1", "2.0", "99.0", "1.1", "1.0.x", "v1.0", "one", "1.0, 1.0", ["1.0", "0.3"]];

/** What a call fails with; undefined where it succeeds. */
async function outcome(caller: Caller, operation: Operation, options: CallOptions): Promise<Failure | undefined> {
  const called = call(caller, operation, operation.request("none"), options);
  try {
    if ("next" in called) {
      await called.next();
      called.leave();
    } else await called;
    return undefined;
  } catch (error) {
    if (error instanceof CallFailed) return error.failure;
    throw error;
  }
}

suite("A2A-Version", () => {
  const bed = sharedBed();

  for (const operation of OPERATIONS) {
    const { name } = operation;
    const reason = REASONS[name];

    everywhere(`R-001 R-191 R-193 R-196 C-12 PR-05 of 1.0, whatever its patch, is served: ${name}`, bed, async (caller) => {
      for (const version of SUPPORTED) {
        const failure = await outcome(caller, operation, { headers: { "a2a-version": version } });
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
          const failure = await outcome(caller, operation, { headers: { "a2a-version": version } });
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
        outcome(caller, operation, { query, headers: { ...without, ...headers } });
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

  for (const operation of OPERATIONS) {
    const { name } = operation;
    everywhere(`C-11 serves a call that names no version, and no other: ${name}`, bed, async (caller) => {
      const reason = REASONS[name];
      for (const version of [undefined, "", "1.0"]) {
        const failure = await outcome(caller, operation, { headers: { "a2a-version": version } });
        assert.equal(failure?.reason, reason, version);
      }
      const refused: CallOptions[] = ["0.3", "99.0", "nonsense"].map((version) => ({ headers: { "a2a-version": version } }));
      if (caller.binding !== "grpc") refused.push({ headers: { "a2a-version": undefined }, query: "A2A-Version=0.3" });
      const failures = [];
      for (const options of refused) failures.push(await outcome(caller, operation, options));
      for (const failure of failures) checkFailure(caller, failure ?? assert.fail("it was served"), "VERSION_NOT_SUPPORTED");
      return undefined;
    });
  }
});
