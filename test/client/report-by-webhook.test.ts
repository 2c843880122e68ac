/** The report that takes longer than a proxy lets a connection be silent, awaited by nobody: a webhook says when it is there. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { test } from "node:test";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AClient, reconcile } from "../../src/client/index.ts";
import type { Agent } from "../../src/core/agent.ts";
import { artifact, completed, textPart } from "../../src/core/events.ts";
import { serve } from "../../src/server/serve.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";
import { BINDINGS } from "./client-bed.ts";
import { resolveCard } from "./resolve-card.ts";
import { openReceiver } from "./webhook-bed.ts";

const WORK_MS = 9000;
const PROXY_IDLE_MS = 6000;
const CHAPTERS = ["one ", "two ", "three ", "four"];

for (const binding of BINDINGS) {
  test(`CL-21 over ${binding} a report of nine seconds is finished by one webhook: one send, one look, nothing open meanwhile`, async () => {
    let runs = 0;
    const agent: Agent = {
      card: { name: "reporter", description: "Reports.", version: "1", defaultInputModes: [], defaultOutputModes: [], skills: [] },
      async *run({ signal }) {
        runs += 1;
        for (const [index, chapter] of CHAPTERS.entries()) {
          if (index === 1) await delay(WORK_MS, undefined, { signal });
          yield artifact({ artifactId: "report", parts: [textPart(chapter)] }, { append: index > 0 });
        }
        yield completed("reported");
      },
    };
    const calls: string[] = [];
    const authorize = (_: unknown, operation: string): undefined => void calls.push(operation);
    const ports = { grpcPort: 0, httpPort: 0, opsPort: 0, drainDelayMs: 0 };
    await using server = await serve({ ...ports, agent, authorize, push: { enabled: true, allow: ["127.0.0.1"], events: "status" } });
    await using proxy = await TcpProxy.open({ port: binding === "GRPC" ? server.ports.grpc : server.ports.http });
    proxy.idle(PROXY_IDLE_MS);
    await using caller = await openReceiver();
    await using client = await A2AClient.connect(resolveCard(server.card, binding, proxy.port), { bindings: [binding] });
    const configuration = { taskPushNotificationConfig: caller.webhook };
    for await (const _ of client.send("the report, please", { wait: "poll", configuration })) break;

    const states: (TaskState | undefined)[] = [];
    for await (const notification of caller.receiver) {
      states.push(notification.state);
      if (notification.state !== TaskState.COMPLETED) continue;
      const task = await reconcile(client, notification);
      assert.deepEqual(
        task?.artifacts.flatMap(({ parts }) => parts.map(({ content }) => content.value)),
        CHAPTERS,
      );
      break;
    }
    assert.deepEqual(states, [TaskState.SUBMITTED, TaskState.WORKING, TaskState.COMPLETED]);
    assert.deepEqual(calls, ["SendMessage", "GetTask"]);
    assert.equal(runs, 1);
  });
}
