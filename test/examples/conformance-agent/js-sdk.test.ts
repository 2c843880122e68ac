/** The official JavaScript SDK's client on the conformance agent: from the card to a client, over each transport that it has. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, suite, test } from "node:test";
import { type Message, Role, type SendMessageResult, type StreamResponse, type Task, TaskState } from "@a2a-js/sdk";
import { type Client, ClientFactory, ClientFactoryOptions } from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";
import { TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError } from "@a2a-js/sdk/errors";
import { serveProfile, type SuiteBed } from "./suite/bed.ts";

const TRANSPORTS = ["GRPC", "HTTP+JSON", "JSONRPC"] as const;

suite("the official JavaScript client", { concurrency: 3, timeout: 120_000 }, () => {
  let bed: SuiteBed;
  const clients = new Map<string, Client>();
  before(async () => {
    bed = await serveProfile("full");
    const { url } = (bed.card["supportedInterfaces"] as { url: string }[])[1] ?? assert.fail("no interface");
    for (const transport of TRANSPORTS) {
      const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
        transports: [new GrpcTransportFactory()],
        preferredTransports: [transport],
      });
      const client = await new ClientFactory(options).createFromUrl(url);
      assert.equal(client.transport.protocolName, transport);
      clients.set(transport, client);
    }
  });
  after(() => bed[Symbol.asyncDispose]());

  /** The same over every transport. */
  function everyTransport(name: string, body: (client: Client) => Promise<void>): void {
    for (const transport of TRANSPORTS) test(`${name} (${transport})`, () => body(clients.get(transport) ?? assert.fail("no client")));
  }

  const ask = async (client: Client): Promise<Task> => taskOf(await client.sendMessage(request("tck-input-required")));

  everyTransport("sends: a task with its status message and its artifact, or a message", async (client) => {
    const done = taskOf(await client.sendMessage(request("tck-complete-task")));
    assert.deepEqual([done.status?.state, textOf(done.status?.message)], [TaskState.TASK_STATE_COMPLETED, "Hello from TCK"]);
    const { artifacts } = taskOf(await client.sendMessage(request("tck-artifact-file")));
    const [part] = artifacts[0]?.parts ?? [];
    assert.ok(part?.content?.$case === "raw");
    assert.deepEqual([Buffer.from(part.content.value).toString(), part.filename, part.mediaType], ["tck", "output.txt", "text/plain"]);
    const message = await client.sendMessage(request("tck-message-response"));
    assert.ok("messageId" in message);
    assert.equal(textOf(message), "Direct message response");
  });

  everyTransport("streams: the task, its working, an artifact, its end", async (client) => {
    const frames = await all(client.sendMessageStream(request("tck-stream-001")));
    assert.deepEqual(frames.map(brief), ["task SUBMITTED", "status WORKING", "artifact Stream hello from TCK", "status COMPLETED"]);
  });

  everyTransport("goes on with a question, and reads what became of it", async (client) => {
    const { id, contextId } = await ask(client);
    const answered = taskOf(await client.sendMessage(request("tck-complete-task", id)));
    assert.deepEqual([answered.id, answered.contextId, answered.status?.state], [id, contextId, TaskState.TASK_STATE_COMPLETED]);
    const read = await client.getTask({ tenant: "", id, historyLength: undefined });
    assert.equal(read.history.filter(({ role }) => role === Role.ROLE_USER).length, 2);
  });

  everyTransport("drops a stream and subscribes to its task: first the task, then all that comes", async (client) => {
    const stream = client.sendMessageStream(request("test-resubscribe-message-id"));
    const { value: first } = await stream.next();
    const id = first?.payload?.$case === "task" ? first.payload.value.id : assert.fail("no task came first");
    await stream.return();
    const frames = (await all(client.resubscribeTask({ tenant: "", id }))).map(brief);
    assert.match(frames[0] ?? "", /^task (SUBMITTED|WORKING)$/);
    assert.equal(frames.at(-1), "status COMPLETED");
  });

  everyTransport("cancels while another call follows", async (client) => {
    const { id } = await ask(client);
    const stream = client.resubscribeTask({ tenant: "", id });
    const { value: first } = await stream.next();
    assert.equal(first && brief(first), "task INPUT_REQUIRED");
    const canceled = await client.cancelTask({ tenant: "", id, metadata: undefined });
    assert.equal(canceled.status?.state, TaskState.TASK_STATE_CANCELED);
    assert.deepEqual((await all(stream)).map(brief), ["status CANCELED"]);
  });

  everyTransport("keeps push configurations, and is shown the extended card", async (client) => {
    const { id: taskId } = taskOf(await client.sendMessage(request("tck-complete-task")));
    const named = { tenant: "", taskId, id: "tck-push-1" };
    const config = {
      ...named,
      url: "https://example.com/tck-push-webhook",
      token: "t",
      authentication: { scheme: "Bearer", credentials: "c" },
    };
    assert.deepEqual(await client.createTaskPushNotificationConfig(config), config);
    assert.deepEqual(await client.getTaskPushNotificationConfig(named), config);
    const list = { tenant: "", taskId, pageSize: 0, pageToken: "" };
    assert.deepEqual((await client.listTaskPushNotificationConfig(list)).configs, [config]);
    await client.deleteTaskPushNotificationConfig(named);
    await client.deleteTaskPushNotificationConfig(named);
    assert.deepEqual((await client.listTaskPushNotificationConfig(list)).configs, []);
    const { skills } = await client.getAgentCard();
    assert.deepEqual(
      skills.map(({ id }) => id),
      ["conformance", "extended"],
    );
  });

  everyTransport("is given errors of its own kinds", async (client) => {
    const { id } = taskOf(await client.sendMessage(request("tck-complete-task")));
    const none = { tenant: "", id: "no-such-task" };
    await assert.rejects(client.getTask({ ...none, historyLength: undefined }), TaskNotFoundError);
    await assert.rejects(client.cancelTask({ tenant: "", id, metadata: undefined }), TaskNotCancelableError);
    await assert.rejects(client.resubscribeTask({ tenant: "", id }).next(), UnsupportedOperationError);
    await assert.rejects(client.resubscribeTask(none).next(), TaskNotFoundError);
  });
});

async function all(stream: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const frames: StreamResponse[] = [];
  for await (const frame of stream) frames.push(frame);
  return frames;
}

function request(prefix: string, taskId = ""): Parameters<Client["sendMessage"]>[0] {
  const part = { content: { $case: "text" as const, value: "hello" }, metadata: undefined, filename: "", mediaType: "" };
  const message: Message = {
    messageId: `${prefix}-${randomUUID().slice(0, 8)}`,
    contextId: "",
    taskId,
    role: Role.ROLE_USER,
    parts: [part],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
  return { tenant: "", message, configuration: undefined, metadata: undefined };
}

function taskOf(result: SendMessageResult): Task {
  return "artifacts" in result ? result : assert.fail("a message, not a task");
}

function textOf(message: Message | undefined): string {
  return (message?.parts ?? []).map(({ content }) => (content?.$case === "text" ? content.value : "")).join("");
}

function brief({ payload }: StreamResponse): string {
  if (payload?.$case === "artifactUpdate") {
    return `artifact ${(payload.value.artifact?.parts ?? []).map(({ content }) => (content?.$case === "text" ? content.value : "")).join("")}`;
  }
  const status = payload?.$case === "task" || payload?.$case === "statusUpdate" ? payload.value.status : undefined;
  const state = TaskState[status?.state ?? 0]?.replace("TASK_STATE_", "");
  return `${payload?.$case === "task" ? "task" : "status"} ${state}`;
}
