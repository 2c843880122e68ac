import assert from "node:assert/strict";
import { suite } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { everywhere, failureOf, nextFrame, send, sharedBed, taskOf } from "../bed.ts";
import { checkFailure } from "../failures.ts";

/** The texts of a task's history; undefined where the member is absent. */
function texts(task: JsonObject): string[] | undefined {
  const history = task["history"] as { parts: { text: string }[] }[] | undefined;
  return history?.map(({ parts }) => parts[0]?.text ?? "");
}

suite("historyLength", () => {
  const bed = sharedBed();
  const whole = ["talk", "first", "second"];
  const expected: readonly (readonly [number | undefined, readonly string[] | undefined])[] = [
    [undefined, whole],
    [0, undefined],
    [1, whole.slice(-1)],
    [2, whole.slice(-2)],
    [3, whole],
    [2 ** 31 - 1, whole],
  ];

  for (const [historyLength, shown] of expected) {
    const bound = historyLength === undefined ? {} : { historyLength };

    everywhere(
      `R-022 R-053 R-057 R-058 R-059 R-060 R-062 R-064 C-20 P-28 ${historyLength} bounds what a send, a get and a list show`,
      bed,
      async (caller) => {
        const contextId = crypto.randomUUID();
        const sent = taskOf(await caller.unary("SendMessage", send("talk", { message: { contextId }, configuration: bound })));
        const got = (await caller.unary("GetTask", { id: sent.id, ...bound })).message;
        const list = (await caller.unary("ListTasks", { contextId, ...bound })).message;
        const [listed] = list["tasks"] as [JsonObject];
        const detailed = (await caller.unary("ListTasks", { contextId, ...bound, includeArtifacts: true })).message;
        for (const task of [sent, got, listed, (detailed["tasks"] as [JsonObject])[0]]) assert.deepEqual(texts(task), shown);
        return [sent, got, list];
      },
    );

    everywhere(`R-022 P-28 ${historyLength} bounds the first frame of a stream`, bed, async (caller) => {
      const stream = caller.stream("SendStreamingMessage", send("talk", { configuration: bound }));
      const { task } = (await nextFrame(stream)) as { task: JsonObject };
      stream.leave();
      assert.deepEqual(texts(task), shown === undefined ? undefined : ["talk"]);
      return task;
    });
  }

  everywhere("R-052 C-20 below zero is refused, and no task begins", bed, async (caller) => {
    const contextId = crypto.randomUUID();
    const request = send("complete", { message: { contextId }, configuration: { historyLength: -1 } });
    const sent = await failureOf(caller.unary("SendMessage", request));
    const streamed = await failureOf(caller.stream("SendStreamingMessage", request));
    const got = await failureOf(caller.unary("GetTask", { id: "any", historyLength: -1 }));
    const listed = await failureOf(caller.unary("ListTasks", { historyLength: -1 }));
    const list = await caller.unary("ListTasks", { contextId });
    assert.equal(list.message["totalSize"], undefined);
    return [
      checkFailure(caller, sent, "INVALID_ARGUMENT", ["configuration.historyLength"]),
      checkFailure(caller, streamed, "INVALID_ARGUMENT", ["configuration.historyLength"]),
      checkFailure(caller, got, "INVALID_ARGUMENT", ["historyLength"]),
      checkFailure(caller, listed, "INVALID_ARGUMENT", ["historyLength"]),
    ];
  });
});
