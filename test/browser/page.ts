/** What runs in the page: Connect's client for browsers, called by the test. */
import { toJson } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { A2AService, Role, type StreamResponse, StreamResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";

/** How the page calls. */
export interface Calling {
  readonly protocol: "connect" | "grpc-web";
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What a stream brought. */
export interface Followed {
  /** ProtoJSON of each frame. */
  readonly frames: readonly unknown[];
  /** The response header `a2a-task-id`. */
  readonly taskId: string | null;
}

/** An error, as the page can read it. */
export interface Told {
  readonly code: string;
  readonly reason: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  readonly challenge: string | null;
}

function clientOf({ protocol, baseUrl }: Calling): Client<typeof A2AService> {
  const create = protocol === "connect" ? createConnectTransport : createGrpcWebTransport;
  return createClient(A2AService, create({ baseUrl, useBinaryFormat: true }));
}

type Open = (client: Client<typeof A2AService>, options: object) => AsyncIterable<StreamResponse>;

/** Reads a stream to its end, or drops it after so many frames. */
async function read(calling: Calling, frames: number, open: Open): Promise<Followed> {
  const dropped = new AbortController();
  const seen: unknown[] = [];
  let taskId: string | null = null;
  const onHeader = (headers: Headers): void => void (taskId = headers.get("a2a-task-id"));
  try {
    for await (const frame of open(clientOf(calling), { headers: calling.headers, onHeader, signal: dropped.signal })) {
      seen.push(toJson(StreamResponseSchema, frame));
      if (seen.length === frames) dropped.abort();
    }
  } catch (error) {
    if (!dropped.signal.aborted || ConnectError.from(error).code !== Code.Canceled) throw error;
  }
  return { frames: seen, taskId };
}

/** The functions that the test calls. */
const calls = {
  send: (calling: Calling, text: string, frames: number): Promise<Followed> =>
    read(calling, frames, (client, options) => {
      const parts = [{ content: { case: "text", value: text } as const }];
      return client.sendStreamingMessage({ message: { messageId: crypto.randomUUID(), role: Role.USER, parts } }, options);
    }),

  subscribe: (calling: Calling, id: string): Promise<Followed> =>
    read(calling, Infinity, (client, options) => client.subscribeToTask({ id }, options)),

  async errorOf(calling: Calling, id: string): Promise<Told | undefined> {
    try {
      await clientOf(calling).getTask({ id }, { headers: calling.headers });
      return undefined;
    } catch (thrown) {
      const error = ConnectError.from(thrown);
      const [info] = error.findDetails(ErrorInfoSchema);
      const challenge = error.metadata.get("www-authenticate");
      return { code: Code[error.code], reason: info?.reason, metadata: info?.metadata ?? {}, challenge };
    }
  },

  async etag(url: string): Promise<string | null> {
    return (await fetch(url)).headers.get("etag");
  },
};

/** What the page offers. */
export type Calls = typeof calls;

Object.assign(globalThis, calls);
