/** `curl`, over HTTP+JSON and JSON-RPC, one operation per run: see ../foreign-kit.ts. */
import { randomUUID } from "node:crypto";
import { linesOf } from "./lines-of.ts";
import { type JsonCaller, Refused, runOperation } from "./json-client.ts";
import type { Binding } from "../foreign-kit.ts";

const COMMON = ["--silent", "--show-error", "--no-buffer", "--max-time", "60", "--header", "A2A-Version: 1.0"];
const NAMES: Readonly<Record<Binding, string>> = { grpc: "GRPC", rest: "HTTP+JSON", jsonrpc: "JSONRPC" };

/** A request as curl's arguments. */
type Wire = (url: string, method: string, request: Fields) => readonly string[];

interface Fields {
  readonly id?: string;
  readonly taskId?: string;
  readonly contextId?: string;
}

/** Members of a reply that say what came: of JSON-RPC, and of an error over HTTP+JSON. */
interface Reply {
  readonly result?: unknown;
  readonly error?: { readonly details?: Details; readonly data?: Details };
}

type Details = readonly { readonly reason?: string }[];

const rest: Wire = (url, method, request) => {
  const [verb, path] = routeOf(method, request);
  return ["--request", verb, ...(verb === "POST" ? json(request) : []), `${url}${path}`];
};

const jsonRpc: Wire = (url, method, params) => [...json({ jsonrpc: "2.0", id: randomUUID(), method, params }), url];

function json(body: object): readonly string[] {
  return ["--header", "Content-Type: application/json", "--data", JSON.stringify(body)];
}

function routeOf(method: string, { id = "", taskId = "", contextId = "" }: Fields): readonly [verb: string, path: string] {
  const configs = `/tasks/${taskId}/pushNotificationConfigs`;
  const routes: Readonly<Record<string, readonly [string, string]>> = {
    SendMessage: ["POST", "/message:send"],
    SendStreamingMessage: ["POST", "/message:stream"],
    SubscribeToTask: ["GET", `/tasks/${id}:subscribe`],
    GetTask: ["GET", `/tasks/${id}`],
    CancelTask: ["POST", `/tasks/${id}:cancel`],
    ListTasks: ["GET", `/tasks?contextId=${contextId}`],
    CreateTaskPushNotificationConfig: ["POST", configs],
    GetTaskPushNotificationConfig: ["GET", `${configs}/${id}`],
    ListTaskPushNotificationConfigs: ["GET", configs],
    DeleteTaskPushNotificationConfig: ["DELETE", `${configs}/${id}`],
  };
  return routes[method] ?? ["POST", `/${method}`];
}

async function open(binding: Binding, card: string): Promise<JsonCaller> {
  const { supportedInterfaces } = JSON.parse(await textOf([...COMMON, card])) as {
    supportedInterfaces: { protocolBinding: string; url: string }[];
  };
  const url = supportedInterfaces.find(({ protocolBinding }) => protocolBinding === NAMES[binding])?.url ?? "";
  const wire = binding === "rest" ? rest : jsonRpc;
  const unwrap = (text: string): unknown => {
    const reply = JSON.parse(text || "{}") as Reply;
    if (reply.error !== undefined) throw new Refused(reply.error.details ?? reply.error.data ?? [], text);
    return binding === "rest" ? reply : reply.result;
  };
  return {
    unary: async <T>(method: string, request: object) => unwrap(await textOf([...COMMON, ...wire(url, method, request)])) as T,
    async *stream<T>(method: string, request: object) {
      for await (const line of linesOf("curl", [...COMMON, ...wire(url, method, request)])) {
        if (line.startsWith("data:")) yield unwrap(line.slice("data:".length)) as T;
        else if (line.startsWith("{")) unwrap(line);
      }
    },
  };
}

async function textOf(args: readonly string[]): Promise<string> {
  const output = linesOf("curl", args);
  let text = "";
  for (;;) {
    const step = await output.next();
    if (step.done !== true) text += step.value;
    else if (step.value.code === 0) return text;
    else throw new Error(`curl ended with ${step.value.code}: ${step.value.stderr}`);
  }
}

await runOperation(open, process.argv.slice(2));
