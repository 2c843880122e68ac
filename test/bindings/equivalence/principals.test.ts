import assert from "node:assert/strict";
import { suite } from "node:test";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { errorOf, everywhere, failureOf, send, sharedBed, startTask, stateOf, taskOf } from "../bed.ts";
import { checkFailure } from "../failures.ts";

const ALICE = { authorization: "Bearer token-of-alice" };
const BOB = { authorization: "bearer token-of-bob" };

suite("bearer tokens", () => {
  const bed = sharedBed({ tokens: { "token-of-alice": "alice", "token-of-bob": "bob" } });

  everywhere(
    "R-002 R-243 R-244 R-287 R-357 R-358 R-365 C-33 are asked for by every operation, before its body or version is judged, with a challenge",
    bed,
    async (caller) => {
      const failures = [];
      for (const { name, methodKind } of A2AService.methods) {
        for (const authorization of [undefined, "Bearer wrong", "Basic dG9rZW4=", "token-of-alice", "Bearer "]) {
          const options = { headers: { authorization, "a2a-version": "0.1" } };
          const bad = { id: "x", taskId: "x", historyLength: -1 };
          const call = methodKind === "server_streaming" ? caller.stream(name, bad, options) : caller.unary(name, bad, options);
          const error = await errorOf(call);
          failures.push(checkFailure(caller, error.failure, "UNAUTHENTICATED"));
          assert.match(error.headers.get("www-authenticate") ?? "", /^Bearer realm=/);
        }
      }
      return failures;
    },
  );

  everywhere(
    "R-013 R-040 R-068 R-074 R-247 R-248 R-249 R-365 R-366 R-367 keep the tasks of two principals apart: another's is as one that is not there",
    bed,
    async (caller) => {
      const contextId = crypto.randomUUID();
      const { id } = taskOf(await caller.unary("SendMessage", send("input", { message: { contextId } }), { headers: ALICE }));
      const absent = crypto.randomUUID();
      const answers: Record<string, unknown[]> = { [id]: [], [absent]: [] };
      for (const taskId of [id, absent]) {
        const calls = [
          caller.unary("GetTask", { id: taskId }, { headers: BOB }),
          caller.unary("CancelTask", { id: taskId }, { headers: BOB }),
          caller.unary("SendMessage", send("complete", { message: { taskId } }), { headers: BOB }),
          caller.unary("SendMessage", send("complete", { message: { taskId, contextId } }), { headers: BOB }),
          caller.stream("SubscribeToTask", { id: taskId }, { headers: BOB }),
          caller.stream("SendStreamingMessage", send("complete", { message: { taskId } }), { headers: BOB }),
        ];
        for (const failure of await Promise.all(calls.map(failureOf))) {
          checkFailure(caller, failure, "TASK_NOT_FOUND");
          assert.deepEqual(failure.metadata, { taskId });
          answers[taskId]?.push({ ...failure, metadata: {} });
        }
      }
      assert.deepEqual(answers[id], answers[absent]);
      const bobs = (await caller.unary("ListTasks", { contextId }, { headers: BOB })).message;
      assert.deepEqual([bobs["tasks"], bobs["totalSize"]], [undefined, undefined]);
      const hers = (await caller.unary("ListTasks", { contextId }, { headers: ALICE })).message;
      assert.equal(hers["totalSize"], 1);
      const task = await caller.unary("GetTask", { id }, { headers: ALICE });
      assert.equal(stateOf(task.message), "TASK_STATE_INPUT_REQUIRED");
      return [bobs, hers];
    },
  );

  everywhere("keep sends apart: the same message of another principal is another send", bed, async (caller) => {
    const request = send("complete");
    const hers = taskOf(await caller.unary("SendMessage", request, { headers: ALICE }));
    const his = taskOf(await caller.unary("SendMessage", request, { headers: BOB }));
    assert.notEqual(his.id, hers.id);
    return undefined;
  });

  everywhere("R-366 keep page tokens apart", bed, async (caller) => {
    const contextId = crypto.randomUUID();
    for (let count = 0; count < 2; count += 1) {
      for (const headers of [ALICE, BOB]) await caller.unary("SendMessage", send("return", { message: { contextId } }), { headers });
    }
    const page = (await caller.unary("ListTasks", { contextId, pageSize: 1 }, { headers: ALICE })).message;
    const pageToken = page["nextPageToken"] as string;
    const failure = await failureOf(caller.unary("ListTasks", { contextId, pageSize: 1, pageToken }, { headers: BOB }));
    return checkFailure(caller, failure, "INVALID_ARGUMENT", ["pageToken"]);
  });
});

suite("without tokens", () => {
  const bed = sharedBed();

  everywhere("everybody is let in, and sees what everybody sent", bed, async (caller) => {
    const id = await startTask(caller, "input");
    await caller.unary("GetTask", { id }, { headers: { authorization: "Bearer whatever" } });
    return undefined;
  });
});
