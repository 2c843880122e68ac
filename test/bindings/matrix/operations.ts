/** The eleven operations as a table, so that what is true of all of them can be said once. */
import type { JsonObject } from "@bufbuild/protobuf";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { send } from "../bed.ts";
import type { Caller, CallOptions, Stream } from "../callers/caller.ts";

/** One of them, and a request for it that is good wherever there is a task of that id, not ended. */
export interface Operation {
  readonly name: string;
  readonly streams: boolean;
  readonly request: (taskId: string) => JsonObject;
}

const REQUESTS: Readonly<Record<string, (taskId: string) => JsonObject>> = {
  SendMessage: () => send("complete"),
  SendStreamingMessage: () => send("complete"),
  GetTask: (id) => ({ id }),
  ListTasks: () => ({}),
  CancelTask: (id) => ({ id }),
  SubscribeToTask: (id) => ({ id }),
  CreateTaskPushNotificationConfig: (taskId) => ({ taskId, id: "own", url: "https://example.com/hook" }),
  GetTaskPushNotificationConfig: (taskId) => ({ taskId, id: "own" }),
  ListTaskPushNotificationConfigs: (taskId) => ({ taskId }),
  DeleteTaskPushNotificationConfig: (taskId) => ({ taskId, id: "own" }),
  GetExtendedAgentCard: () => ({}),
};

/** All of them, in the order of the proto. */
export const OPERATIONS: readonly Operation[] = A2AService.methods.map(({ name, methodKind }) => ({
  name,
  streams: methodKind === "server_streaming",
  request:
    REQUESTS[name] ??
    ((): never => {
      throw new TypeError(`no request for ${name}`);
    }),
}));

/** Those that are about a task that exists, by its id. */
export const OF_A_TASK: readonly Operation[] = OPERATIONS.filter(({ request }) => JSON.stringify(request("task!")).includes("task!"));

/** Calls an operation, whichever kind it is. */
export function call(
  caller: Caller,
  { name, streams }: Operation,
  request: JsonObject,
  options: CallOptions = {},
): Promise<unknown> | Stream {
  return streams ? caller.stream(name, request, options) : caller.unary(name, request, options);
}
