/** The suite's scenario of a push delivery: its receiver is an HTTP/1.0 server on localhost that takes one connection at a time. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { fromJsonString } from "@bufbuild/protobuf";
import { StreamResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { serveProfile, triggered } from "./suite/bed.ts";
import { taskIn } from "./suite/read.ts";

/** What came, one by one, as head and body. */
interface OldReceiver extends AsyncDisposable {
  readonly url: string;
  readonly requests: string[];
  until(count: number): Promise<void>;
}

async function openOldReceiver(): Promise<OldReceiver> {
  const requests: string[] = [];
  const server = createServer((socket) => {
    let text = "";
    socket.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
      const [head = "", body] = text.split("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
      if (body === undefined || Buffer.byteLength(body) < length) return;
      requests.push(text);
      socket.end("HTTP/1.0 200 OK\r\nServer: BaseHTTP/0.6\r\n\r\n");
      server.emit("request");
    });
    socket.on("error", () => undefined);
  });
  server.maxConnections = 1;
  await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}/webhook`,
    requests,
    async until(count) {
      while (requests.length < count) await once(server, "request");
    },
    [Symbol.asyncDispose]: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}

test("a webhook that came with a send is told of what the task does later, with its credentials, over each transport", async () => {
  await using bed = await serveProfile("full");
  for (const [at, client] of bed.clients.entries()) {
    await using receiver = await openOldReceiver();
    const credentials = `tck-test-token-${at}`;
    const taskPushNotificationConfig = { id: `tck-push-${at}`, url: receiver.url, authentication: { scheme: "Bearer", credentials } };
    const { id: taskId } = taskIn(await client.send(triggered("tck-input-required", client), { taskPushNotificationConfig }));
    await receiver.until(1);
    const { length } = receiver.requests;
    assert.equal(taskIn(await client.send(triggered("tck-complete-task", client, { taskId }))).state, "COMPLETED");
    await receiver.until(length + 1);
    for (const request of receiver.requests) {
      const [head = "", body = ""] = request.split("\r\n\r\n");
      assert.match(head, new RegExp(`^authorization: Bearer ${credentials}$`, "im"));
      assert.notEqual(fromJsonString(StreamResponseSchema, body).payload.case, undefined);
    }
    // Its last one too, so that the next receiver finds nothing under way.
    while (!receiver.requests.some((request) => request.includes("TASK_STATE_COMPLETED")))
      await receiver.until(receiver.requests.length + 1);
  }
});
