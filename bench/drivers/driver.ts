/** What the rows need from a binding, in terms of bytes that arrived: nothing is decoded that a row does not ask for. */
import type { StreamResponse, Task } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { StreamCall, Watch } from "./stream-call.ts";

export const BINDINGS = ["grpc", "connect", "grpcweb", "rest", "jsonrpc"] as const;
export type Binding = (typeof BINDINGS)[number];

/** The client end of one binding. */
export interface Driver {
  /** SendStreamingMessage: a new task with this text. */
  send(text: string, watch?: Watch): StreamCall;
  /** SubscribeToTask. */
  subscribe(taskId: string): StreamCall;
  /** GetTask: the answer as it came. */
  get(taskId: string): Promise<Buffer>;
  /** ListTasks: the first page of 50, as it came. */
  list(): Promise<Buffer>;
  /** CancelTask. */
  cancel(taskId: string): Promise<void>;
  /** The Task in an answer of `get`. */
  task(reply: Buffer): Task;
  /** The event in a frame of a stream. */
  event(frame: Buffer): StreamResponse;
  /** Closes every connection. */
  close(): void;
}

/** Tasks on the page that `list` asks for. */
export const PAGE_SIZE = 50;

/** Sent with every request. */
export const VERSION_HEADER = { "a2a-version": "1.0" } as const;
