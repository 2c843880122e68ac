import assert from "node:assert/strict";
import { suite } from "node:test";
import { collect, everywhere, failureOf, send, sharedBed, startTask, stateOf, taskOf } from "../bed.ts";
import { checkFailure } from "../failures.ts";
import { ScenarioAgent } from "../scenario-agent.ts";

suite("streaming that is off", () => {
  const bed = sharedBed({}, new ScenarioAgent({ card: { capabilities: { streaming: false } } }));

  everywhere(
    "R-028 R-072 R-256 SV-11 refuses both streams before anything is looked up, validated or begun",
    bed,
    async (caller) => {
      const contextId = crypto.randomUUID();
      const streams = [
        caller.stream("SendStreamingMessage", send("complete", { message: { contextId } })),
        caller.stream("SendStreamingMessage", {}),
        caller.stream("SubscribeToTask", { id: crypto.randomUUID() }),
      ];
      const failures = await Promise.all(streams.map(failureOf));
      const list = await caller.unary("ListTasks", { contextId });
      assert.equal(list.message["totalSize"], undefined);
      return failures.map((failure) => checkFailure(caller, failure, "UNSUPPORTED_OPERATION"));
    },
    { behindFront: "it streams what it polls" },
  );

  everywhere("leaves the other ways to wait as they are", bed, async (caller) => {
    const task = taskOf(await caller.unary("SendMessage", send("complete")));
    const id = await startTask(caller, "input");
    return [stateOf(task), id];
  });
});

suite("push notifications that are off", () => {
  const bed = sharedBed();
  const config = { url: "https://example.com/hook" };

  everywhere("R-093 R-256 refuse their four operations, whether the task is there or not", bed, async (caller) => {
    const known = await startTask(caller, "input");
    const failures = [];
    for (const taskId of [known, crypto.randomUUID()]) {
      const calls = [
        caller.unary("CreateTaskPushNotificationConfig", { taskId, ...config }),
        caller.unary("GetTaskPushNotificationConfig", { taskId, id: "c" }),
        caller.unary("ListTaskPushNotificationConfigs", { taskId }),
        caller.unary("DeleteTaskPushNotificationConfig", { taskId, id: "c" }),
      ];
      for (const failure of await Promise.all(calls.map(failureOf))) {
        failures.push(checkFailure(caller, failure, "PUSH_NOTIFICATION_NOT_SUPPORTED"));
      }
    }
    return failures;
  });

  everywhere("R-094 C-27 refuse a send that asks for them, and no task begins", bed, async (caller) => {
    const contextId = crypto.randomUUID();
    const request = send("complete", { message: { contextId }, configuration: { taskPushNotificationConfig: config } });
    const failures = [
      await failureOf(caller.unary("SendMessage", request)),
      await failureOf(caller.stream("SendStreamingMessage", request)),
    ];
    const list = await caller.unary("ListTasks", { contextId });
    assert.equal(list.message["totalSize"], undefined);
    return failures.map((failure) => checkFailure(caller, failure, "PUSH_NOTIFICATION_NOT_SUPPORTED"));
  });

  everywhere("R-094 refuse a follow-up that asks for them, and the task stays as it is", bed, async (caller) => {
    const { id } = taskOf(await caller.unary("SendMessage", send("input")));
    const request = send("complete", { message: { taskId: id }, configuration: { taskPushNotificationConfig: config } });
    const failure = await failureOf(caller.unary("SendMessage", request));
    const task = await caller.unary("GetTask", { id });
    assert.equal(stateOf(task.message), "TASK_STATE_INPUT_REQUIRED");
    return checkFailure(caller, failure, "PUSH_NOTIFICATION_NOT_SUPPORTED");
  });
});

suite("the extended card that is not there", () => {
  const bed = sharedBed();

  everywhere("R-132 R-256 is an unsupported operation", bed, async (caller) =>
    checkFailure(caller, await failureOf(caller.unary("GetExtendedAgentCard")), "UNSUPPORTED_OPERATION"),
  );
});

suite("closeOnInputRequired", () => {
  for (const [mode, sendEnds, subscriptionEnds] of [
    ["send", true, false],
    ["all", true, true],
    ["none", false, false],
  ] as const) {
    suite(mode, () => {
      const bed = sharedBed({ closeOnInputRequired: mode });

      everywhere("C-02 says which streams end at INPUT_REQUIRED; what has ended is a prefix of what goes on", bed, async (caller) => {
        const { id } = taskOf(await caller.unary("SendMessage", send("auth")));
        const subscription = caller.stream("SubscribeToTask", { id });
        await subscription.next();
        const sender = caller.stream("SendStreamingMessage", send("input", { message: { taskId: id } }));
        await sender.next();
        const both = [sender, subscription].map(async (stream) => {
          const seen = [];
          for await (const frame of stream) {
            const { payload } = frame;
            const state = payload.case === "statusUpdate" ? payload.value.status?.state : undefined;
            seen.push(state);
            // INPUT_REQUIRED: a stream that is still open then gets the CANCELED below.
            if (state === 6) reached.resolve();
          }
          return seen;
        });
        const reached = Promise.withResolvers<void>();
        await reached.promise;
        await caller.unary("CancelTask", { id });
        const [sent, subscribed] = await Promise.all(both);
        assert.deepEqual(sent, sendEnds ? [6] : [6, 5]);
        assert.deepEqual(subscribed, subscriptionEnds ? [2, 6] : [2, 6, 5]);
        return undefined;
      });

      everywhere("C-02 never ends a stream that began there", bed, async (caller) => {
        const { id } = taskOf(await caller.unary("SendMessage", send("input")));
        const subscription = caller.stream("SubscribeToTask", { id });
        await subscription.next();
        await caller.unary("CancelTask", { id });
        const { frames, end } = await collect(subscription);
        assert.equal(frames.length, 1);
        assert.equal(end, "clean");
        return frames;
      });
    });
  }
});
