/** A flooding server, and clients that never read what it sends them. */
import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { create, toBinary } from "@bufbuild/protobuf";
import { type SendMessageRequest, SendMessageRequestSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { GrpcCaller } from "../bindings/callers/grpc.ts";

/** How much the agent says. */
export const FLOOD_BYTES = 300 * 1000 * 1000;

/** A megabyte. */
export const MB = 1000 * 1000;

/** Where it listens. */
interface Ports {
  readonly grpc: number;
  readonly http: number;
}

/** The flooding server as a process of its own. */
export class FloodServer implements AsyncDisposable {
  readonly #child: ChildProcess;
  ports: Ports = { grpc: 0, http: 0 };

  constructor(options: object) {
    const file = fileURLToPath(new URL("flood-server.ts", import.meta.url));
    this.#child = fork(file, [JSON.stringify(options)], { execArgv: ["--expose-gc"], stdio: ["ignore", "inherit", "inherit", "ipc"] });
  }

  /** The next thing that the server says under this name. */
  async said<T>(name: string): Promise<T> {
    for (;;) {
      const [word] = (await once(this.#child, "message")) as [Record<string, T>];
      if (name in word) return word[name] as T;
    }
  }

  go(): void {
    this.#child.send("go");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.send("end");
    await exited;
  }
}

/** Starts one. */
export async function flood(options: object = {}): Promise<FloodServer> {
  const server = new FloodServer(options);
  server.ports = await server.said<Ports>("ports");
  return server;
}

/** A send that nobody reads. */
export type Stalled = (
  ports: Ports,
  bytes: number,
) => {
  /** Resolves when the server has cut it. */
  readonly cut: () => Promise<string>;
  readonly close: () => void;
};

/** A POST as it is sent. */
interface Posted {
  readonly target: string;
  readonly type: string;
  readonly body: (text: string) => Uint8Array;
}

const overHttp1 =
  ({ target, type, body }: Posted): Stalled =>
  ({ http }, bytes) => {
    const socket: Socket = connect(http, "127.0.0.1");
    socket.pause();
    const sent = body(String(bytes));
    socket.write(
      `POST ${target} HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\ncontent-type: ${type}\r\ncontent-length: ${sent.length}\r\n\r\n`,
    );
    socket.write(sent);
    // It goes on reading nothing: what it writes (empty lines, which HTTP passes over) fails once the connection is cut.
    const cut = async (): Promise<string> => {
      const closed = Promise.withResolvers<string>();
      socket.on("error", () => undefined).once("close", () => closed.resolve("closed"));
      const poke = setInterval(() => socket.write("\r\n"), 20);
      return closed.promise.finally(() => clearInterval(poke));
    };
    return { cut, close: () => socket.destroy() };
  };

const overHttp2 =
  ({ target, type, body }: Posted, port: keyof Ports = "http"): Stalled =>
  (ports, bytes) => {
    const session: ClientHttp2Session = connectHttp2(`http://127.0.0.1:${ports[port]}`);
    const stream: ClientHttp2Stream = session.request({
      ":method": "POST",
      ":path": target,
      "content-type": type,
      te: "trailers",
      "a2a-version": "1.0",
    });
    stream.end(body(String(bytes)));
    stream.on("error", () => undefined);
    const closed = once(stream, "close").then(() => `reset ${stream.rstCode}`);
    return { cut: () => closed, close: () => session.destroy() };
  };

/** A user's message. */
export function message(text: string): object {
  return { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }] };
}

const json =
  (body: (text: string) => object): Posted["body"] =>
  (text) =>
    Buffer.from(JSON.stringify(body(text)));

function enveloped(text: string): Uint8Array {
  const request: SendMessageRequest = create(SendMessageRequestSchema, {
    message: { messageId: randomUUID(), role: 1, parts: [{ content: { case: "text", value: text } }] },
  });
  const encoded = toBinary(SendMessageRequestSchema, request);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(encoded.length, 1);
  return Buffer.concat([head, encoded]);
}

const METHOD = "/lf.a2a.v1.A2AService/SendStreamingMessage";
const REST: Posted = { target: "/message:stream", type: "application/json", body: json((text) => ({ message: message(text) })) };
const RPC: Posted = {
  target: "/jsonrpc",
  type: "application/json",
  body: json((text) => ({ jsonrpc: "2.0", id: 1, method: "SendStreamingMessage", params: { message: message(text) } })),
};
const CONNECT: Posted = { target: METHOD, type: "application/connect+proto", body: enveloped };
const GRPC_WEB: Posted = { target: METHOD, type: "application/grpc-web+proto", body: enveloped };

/** How a stalled stream ends where its end cannot be flushed: alone where it has its connection with others. */
const CLOSED = "closed";
const RESET = "reset 8";

/** Sends that nobody reads, over every surface and version of HTTP, and how each is cut. */
export const SURFACES: readonly (readonly [name: string, stalled: Stalled, cut: string])[] = [
  ["gRPC", overHttp2({ target: METHOD, type: "application/grpc", body: enveloped }, "grpc"), RESET],
  ["HTTP+JSON", overHttp1(REST), CLOSED],
  ["HTTP+JSON over HTTP/2", overHttp2(REST), RESET],
  ["JSON-RPC", overHttp1(RPC), CLOSED],
  ["Connect", overHttp1(CONNECT), CLOSED],
  ["Connect over HTTP/2", overHttp2(CONNECT), RESET],
  ["gRPC-Web", overHttp1(GRPC_WEB), CLOSED],
  ["gRPC-Web over HTTP/2", overHttp2(GRPC_WEB), RESET],
];

/** Reads a task to its end over gRPC; `go` is called once its first frame is in. */
export async function readAll(caller: GrpcCaller, taskId: string, go: () => void): Promise<void> {
  let begun = false;
  let last: TaskState | undefined;
  for await (const { payload } of caller.stream("SubscribeToTask", { id: taskId })) {
    if (!begun) go();
    begun = true;
    if (payload.case === "task" || payload.case === "statusUpdate") last = payload.value.status?.state;
  }
  assert.equal(last, TaskState.COMPLETED);
}
