/** The codes of A2A 1.0.0, for suites that ask for them (C-06). */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { failureOf, send, sharedBed, taskOf } from "../bindings/bed.ts";
import { ScenarioAgent } from "../bindings/scenario-agent.ts";

suite("errors with the codes of 1.0.0", () => {
  const bed = sharedBed({ errorCodes: "1.0.0" }, new ScenarioAgent());

  test("C-06 P-26 are the older ones where they were others, on every binding, with the same reasons", async () => {
    const { grpc, rest, jsonRpc } = bed();
    const { id } = taskOf(await grpc.unary("SendMessage", send("complete")));
    const wanted = [
      ["CancelTask", { id }, "TASK_NOT_CANCELABLE", 9, 409, -32002],
      ["ListTaskPushNotificationConfigs", { taskId: id }, "PUSH_NOTIFICATION_NOT_SUPPORTED", 12, 400, -32003],
      ["GetExtendedAgentCard", {}, "UNSUPPORTED_OPERATION", 12, 400, -32004],
      [
        "SendMessage",
        send("complete", { message: { parts: [{ text: "x", mediaType: "image/png" }] } }),
        "CONTENT_TYPE_NOT_SUPPORTED",
        3,
        415,
        -32005,
      ],
      ["SendMessage", send("reply-invalid"), "INVALID_AGENT_RESPONSE", 13, 502, -32006],
      ["GetTask", { id: "none" }, "TASK_NOT_FOUND", 5, 404, -32001],
    ] as const;
    for (const [method, request, reason, ...codes] of wanted) {
      const failures = [];
      for (const caller of [grpc, rest, jsonRpc]) failures.push(await failureOf(caller.unary(method, request)));
      assert.deepEqual(
        failures.map((failure) => [failure.reason, failure.code]),
        codes.map((code) => [reason, code]),
      );
    }
  });

  test("C-06 C-11 a version that is not offered, and a stream that is refused, have them too", async () => {
    const { grpc, rest } = bed();
    const { id } = taskOf(await grpc.unary("SendMessage", send("complete")));
    const headers = { "a2a-version": "9.9" };
    assert.equal((await failureOf(grpc.unary("ListTasks", {}, { headers }))).code, 12);
    assert.equal((await failureOf(rest.unary("ListTasks", {}, { headers }))).code, 400);
    const refused = await failureOf(grpc.stream("SubscribeToTask", { id }));
    assert.deepEqual([refused.reason, refused.code], ["UNSUPPORTED_OPERATION", 12]);
  });
});
