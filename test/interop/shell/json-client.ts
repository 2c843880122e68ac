/** The operations of ../foreign-kit.ts by JSON texts alone, for programs that speak no more than that. */
import { randomUUID } from "node:crypto";
import type { Binding, ClientReport } from "../foreign-kit.ts";

const HOOK = "https://example.com/hook";

interface Parts {
  readonly parts?: readonly { readonly text?: string }[];
}

interface Artifact extends Parts {
  readonly artifactId: string;
}

/** A task as ProtoJSON: what is empty is left out. */
interface Task {
  readonly id: string;
  readonly contextId: string;
  status: { readonly state: string };
  artifacts?: Artifact[];
}

/** SendMessageResponse and StreamResponse. */
interface Payload {
  readonly task?: Task;
  readonly message?: Parts;
  readonly statusUpdate?: Pick<Task, "status">;
  readonly artifactUpdate?: { readonly artifact: Artifact; readonly append?: boolean };
}

/** A call that was refused. */
export class Refused extends Error {
  /** Of `google.rpc.ErrorInfo`. */
  readonly reason: string | undefined;

  /** `details` of the error as JSON, whatever else it is wrapped in. */
  constructor(details: readonly { readonly reason?: string }[], text: string) {
    super(text);
    this.reason = details.find(({ reason }) => reason !== undefined)?.reason;
  }
}

/** A program that calls. Throws {@link Refused}. A stream that is left is cut. */
export interface JsonCaller {
  unary<Reply>(method: string, request: object): Promise<Reply>;
  stream<Frame>(method: string, request: object): AsyncGenerator<Frame, void>;
}

/** Makes a caller of the agent with this card. */
export type OpenCaller = (binding: Binding, card: string) => Promise<JsonCaller>;

class Fold {
  #task: Task | undefined;
  #message: Parts | undefined;

  take({ task, message, statusUpdate, artifactUpdate }: Payload): void {
    if (task !== undefined) this.#task = task;
    if (message !== undefined) this.#message = message;
    if (this.#task === undefined) return;
    if (statusUpdate !== undefined) this.#task.status = statusUpdate.status;
    if (artifactUpdate !== undefined) this.#grow(this.#task, artifactUpdate);
  }

  get task(): Task {
    if (this.#task === undefined) throw new Error("there is no task");
    return this.#task;
  }

  get pieces(): number {
    return (this.#task?.artifacts ?? []).reduce((count, { parts = [] }) => count + parts.length, 0);
  }

  get report(): ClientReport {
    return this.#task === undefined ? { ok: true, message: textOf(this.#message) } : reportOf(this.#task);
  }

  #grow(task: Task, { artifact, append = false }: NonNullable<Payload["artifactUpdate"]>): void {
    const artifacts = task.artifacts ?? [];
    const at = artifacts.findIndex(({ artifactId }) => artifactId === artifact.artifactId);
    const known = artifacts[at];
    if (known === undefined) artifacts.push(artifact);
    else artifacts[at] = append ? { ...known, parts: [...(known.parts ?? []), ...(artifact.parts ?? [])] } : artifact;
    task.artifacts = artifacts;
  }
}

/** Runs what the command line asks for, and tells what came of it. */
export async function runOperation(open: OpenCaller, [binding = "", card = "", operation = "", ...args]: readonly string[]): Promise<void> {
  const again = (other = card): Promise<JsonCaller> => open(binding as Binding, other);
  let report: ClientReport;
  try {
    report = await operate(operation, args, again);
  } catch (error) {
    report = { ok: false, error: String(error), ...(error instanceof Refused && error.reason !== undefined && { reason: error.reason }) };
  }
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

async function operate(operation: string, args: readonly string[], open: (card?: string) => Promise<JsonCaller>): Promise<ClientReport> {
  const caller = await open();
  const [first = "", second, third] = args;
  const fold = new Fold();
  switch (operation) {
    case "send":
      fold.take(await caller.unary("SendMessage", requestOf(first, { taskId: second, contextId: third })));
      return fold.report;
    case "stream":
      for await (const frame of caller.stream<Payload>("SendStreamingMessage", requestOf(first))) fold.take(frame);
      return fold.report;
    case "resume":
      for await (const frame of caller.stream<Payload>("SendStreamingMessage", requestOf(first))) {
        fold.take(frame);
        if (fold.pieces === 2) break;
      }
      for await (const frame of (await open(second)).stream<Payload>("SubscribeToTask", { id: fold.task.id })) fold.take(frame);
      return fold.report;
    case "cancel":
      fold.take(await caller.unary("SendMessage", { ...requestOf("slow"), configuration: { returnImmediately: true } }));
      return reportOf(await caller.unary("CancelTask", { id: fold.task.id }));
    case "list": {
      const { tasks = [] } = await caller.unary<{ tasks?: Task[] }>("ListTasks", { contextId: first });
      return { ok: true, ids: tasks.map(({ id }) => id) };
    }
    case "push":
      return push(caller, first);
    case "error":
      return reportOf(await caller.unary("GetTask", { id: randomUUID() }));
    default:
      throw new Error(`no operation ${operation}`);
  }
}

async function push(caller: JsonCaller, taskId: string): Promise<ClientReport> {
  const named = { taskId, id: "hook" };
  await caller.unary("CreateTaskPushNotificationConfig", { ...named, url: HOOK });
  const { url } = await caller.unary<{ url: string }>("GetTaskPushNotificationConfig", named);
  if (url !== HOOK) throw new Error(`another URL was read: ${url}`);
  const list = (): Promise<{ configs?: { id: string }[] }> => caller.unary("ListTaskPushNotificationConfigs", { taskId });
  const { configs = [] } = await list();
  await caller.unary("DeleteTaskPushNotificationConfig", named);
  const { configs: left = [] } = await list();
  if (left.length > 0) throw new Error("it is not deleted");
  return { ok: true, ids: configs.map(({ id }) => id) };
}

function requestOf(text: string, names: object = {}): object {
  return { message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }], ...names } };
}

function reportOf({ id, contextId, status, artifacts = [] }: Task): ClientReport {
  return { ok: true, state: status.state, artifacts: artifacts.map(textOf), taskId: id, contextId };
}

function textOf(said: Parts | undefined): string {
  return (said?.parts ?? []).map(({ text = "" }) => text).join("");
}
