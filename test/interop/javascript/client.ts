/** The client of `@a2a-js/sdk`, one operation per run: see ../foreign-kit.ts. */
import { randomUUID } from "node:crypto";
import { type Message, Role, type SendMessageRequest, TaskState } from "@a2a-js/sdk";
import { type Client, ClientFactory, ClientFactoryOptions } from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";
import { A2AError } from "@a2a-js/sdk/errors";
import type { Binding, ClientReport } from "../foreign-kit.ts";
import { Fold, reportOf, textOf } from "./fold.ts";

const TRANSPORTS: Readonly<Record<Binding, string>> = { grpc: "GRPC", rest: "HTTP+JSON", jsonrpc: "JSONRPC" };
const HOOK = "https://example.com/hook";

type Operation = (client: Client, ...args: string[]) => Promise<ClientReport>;

const OPERATIONS: Readonly<Record<string, Operation>> = {
  send: async (client, text = "", taskId = "", contextId = "") => {
    const result = await client.sendMessage(request(text, { taskId, contextId }));
    return "messageId" in result ? { ok: true, message: textOf(result.parts) } : reportOf(result);
  },

  stream: async (client, text = "") => {
    const fold = new Fold();
    for await (const event of client.sendMessageStream(request(text))) fold.take(event);
    return fold.report;
  },

  resume: async (client, text = "", other = url) => {
    const fold = new Fold();
    const drop = new AbortController();
    try {
      for await (const event of client.sendMessageStream(request(text), { signal: drop.signal })) {
        fold.take(event);
        if (fold.pieces === 2) drop.abort();
      }
    } catch (error) {
      if (!drop.signal.aborted) throw error;
    }
    const again = await open(other);
    for await (const event of again.resubscribeTask({ tenant: "", id: fold.taskId })) fold.take(event);
    return fold.report;
  },

  cancel: async (client) => {
    const configuration = { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: true };
    const task = await client.sendMessage({ ...request("slow"), configuration });
    if ("messageId" in task) throw new Error("a message and no task");
    return reportOf(await client.cancelTask({ tenant: "", id: task.id, metadata: undefined }));
  },

  list: async (client, contextId = "") => {
    const filter = { tenant: "", contextId, status: TaskState.TASK_STATE_UNSPECIFIED, pageToken: "", statusTimestampAfter: undefined };
    const { tasks } = await client.listTasks(filter);
    return { ok: true, ids: tasks.map(({ id }) => id) };
  },

  push: async (client, taskId = "") => {
    const named = { tenant: "", taskId, id: "hook" };
    const page = { tenant: "", taskId, pageSize: 0, pageToken: "" };
    await client.createTaskPushNotificationConfig({ ...named, url: HOOK, token: "", authentication: undefined });
    const { url: read } = await client.getTaskPushNotificationConfig(named);
    if (read !== HOOK) throw new Error(`another URL was read: ${read}`);
    const { configs } = await client.listTaskPushNotificationConfig(page);
    await client.deleteTaskPushNotificationConfig(named);
    const { configs: left } = await client.listTaskPushNotificationConfig(page);
    if (left.length > 0) throw new Error("it is not deleted");
    return { ok: true, ids: configs.map(({ id }) => id) };
  },

  error: async (client) => reportOf(await client.getTask({ tenant: "", id: randomUUID(), historyLength: undefined })),
};

const [binding = "", url = "", operation = "", ...args] = process.argv.slice(2);

function open(card: string): Promise<Client> {
  const preferredTransports = [TRANSPORTS[binding as Binding]];
  const options = { transports: [new GrpcTransportFactory()], preferredTransports };
  return new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, options)).createFromUrl(card, "");
}

function request(
  text: string,
  names: { readonly taskId: string; readonly contextId: string } = { taskId: "", contextId: "" },
): SendMessageRequest {
  const part = { content: { $case: "text" as const, value: text }, metadata: undefined, filename: "", mediaType: "" };
  const message: Message = {
    ...names,
    messageId: randomUUID(),
    role: Role.ROLE_USER,
    parts: [part],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
  return { tenant: "", message, configuration: undefined, metadata: undefined };
}

async function report(): Promise<ClientReport> {
  try {
    const run = OPERATIONS[operation];
    if (run === undefined) throw new Error(`no operation ${operation}`);
    return await run(await open(url), ...args);
  } catch (error) {
    return { ok: false, error: String(error), ...(error instanceof A2AError && { reason: error.reason }) };
  }
}

process.stdout.write(`${JSON.stringify(await report())}\n`);
// The SDK has no way to close a client, and gRPC's connection would keep the process.
process.exit(0);
