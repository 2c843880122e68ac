/** A client that never reads costs the server a bounded amount, and is ended; nobody else notices. */
import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { create, toBinary } from "@bufbuild/protobuf";
import { type SendMessageRequest, SendMessageRequestSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { GrpcCaller } from "../bindings/callers/grpc.ts";

const FLOOD_BYTES = 300 * 1000 * 1000;
const MB = 1000 * 1000;

interface Ports {
  readonly grpc: number;
  readonly http: number;
}

/** The flooding server as a process of its own. */
class FloodServer implements AsyncDisposable {
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

async function flood(options: object = {}): Promise<FloodServer> {
  const server = new FloodServer(options);
  server.ports = await server.said<Ports>("ports");
  return server;
}

/** A send that nobody reads. */
type Stalled = (
  ports: Ports,
  bytes: number,
) => {
  /** Resolves when the server has cut it. */
  readonly cut: () => Promise<string>;
  readonly close: () => void;
};

const stalledSse =
  (target: string, body: (text: string) => object): Stalled =>
  ({ http }, bytes) => {
    const socket: Socket = connect(http, "127.0.0.1");
    socket.pause();
    const json = JSON.stringify(body(String(bytes)));
    socket.write(
      `POST ${target} HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\ncontent-type: application/json\r\ncontent-length: ${json.length}\r\n\r\n${json}`,
    );
    // It goes on reading nothing: what it writes (empty lines, which HTTP passes over) fails once the connection is cut.
    const cut = async (): Promise<string> => {
      const closed = Promise.withResolvers<string>();
      socket.on("error", () => undefined).once("close", () => closed.resolve("closed"));
      const poke = setInterval(() => socket.write("\r\n"), 20);
      return closed.promise.finally(() => clearInterval(poke));
    };
    return { cut, close: () => socket.destroy() };
  };

const message = (text: string): object => ({ messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }] });

const stalledGrpc: Stalled = ({ grpc }, bytes) => {
  const session: ClientHttp2Session = connectHttp2(`http://127.0.0.1:${grpc}`);
  const stream: ClientHttp2Stream = session.request({
    ":method": "POST",
    ":path": "/lf.a2a.v1.A2AService/SendStreamingMessage",
    "content-type": "application/grpc",
    te: "trailers",
    "a2a-version": "1.0",
  });
  const request: SendMessageRequest = create(SendMessageRequestSchema, {
    message: { messageId: randomUUID(), role: 1, parts: [{ content: { case: "text", value: String(bytes) } }] },
  });
  const encoded = toBinary(SendMessageRequestSchema, request);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(encoded.length, 1);
  stream.end(Buffer.concat([head, encoded]));
  stream.on("error", () => undefined);
  const closed = once(stream, "close").then(() => `reset ${stream.rstCode}`);
  const cut = (): Promise<string> => closed;
  return { cut, close: () => session.destroy() };
};

const bindings: readonly (readonly [name: string, stalled: Stalled])[] = [
  ["gRPC", stalledGrpc],
  ["HTTP+JSON", stalledSse("/message:stream", (text) => ({ message: message(text) }))],
  [
    "JSON-RPC",
    stalledSse("/jsonrpc", (text) => ({ jsonrpc: "2.0", id: 1, method: "SendStreamingMessage", params: { message: message(text) } })),
  ],
];

/** Reads a task to its end over gRPC; `go` is called once its first frame is in. */
async function readAll(caller: GrpcCaller, taskId: string, go: () => void): Promise<void> {
  let begun = false;
  let last: TaskState | undefined;
  for await (const { payload } of caller.stream("SubscribeToTask", { id: taskId })) {
    if (!begun) go();
    begun = true;
    if (payload.case === "task" || payload.case === "statusUpdate") last = payload.value.status?.state;
  }
  assert.equal(last, TaskState.COMPLETED);
}

async function peakWith(stalled: Stalled | undefined): Promise<number> {
  await using server = await flood();
  const caller = new GrpcCaller(server.ports.grpc);
  const begun = server.said<string>("begun");
  const reader = stalled?.(server.ports, FLOOD_BYTES);
  if (reader === undefined) {
    await caller.unary("SendMessage", { message: message(String(FLOOD_BYTES)), configuration: { returnImmediately: true } } as never);
  }
  const peak = server.said<number>("peak");
  await readAll(caller, await begun, () => server.go());
  reader?.close();
  caller.close();
  return await peak;
}

test(
  "SV-05 P-13 PR-09 a client that never reads 300 MB adds at most 8 MB, and other streams of the task reach its end",
  { timeout: 240_000 },
  async (t) => {
    const without = await peakWith(undefined);
    for (const [name, stalled] of bindings) {
      await t.test(name, async () => {
        const added = (await peakWith(stalled)) - without;
        t.diagnostic(`${name}: ${(added / MB).toFixed(1)} MB more than ${(without / MB).toFixed(1)} MB`);
        assert.ok(added <= 8 * MB, `${(added / MB).toFixed(1)} MB more`);
      });
    }
  },
);

test("SV-05 a reader that takes nothing for stalledStreamMs is cut, and the task goes on", { timeout: 120_000 }, async (t) => {
  for (const [name, stalled] of bindings) {
    await t.test(name, async () => {
      await using server = await flood({ stalledStreamMs: 2500, stallFlushMs: 50 });
      const caller = new GrpcCaller(server.ports.grpc);
      const begun = server.said<string>("begun");
      const reader = stalled(server.ports, FLOOD_BYTES);
      await readAll(caller, await begun, () => server.go());
      assert.equal(await reader.cut(), name === "gRPC" ? "reset 8" : "closed");
      reader.close();
      caller.close();
    });
  }
});

test("a reader that takes a large task slowly but steadily is not cut", { timeout: 120_000 }, async () => {
  await using server = await flood({ stalledStreamMs: 1500 });
  const caller = new GrpcCaller(server.ports.grpc);
  const begun = server.said<string>("begun");
  // One message of 8 MB in the task's history makes its first frame as large.
  const parts = [{ text: "1" }, { text: "x".repeat(8 * MB) }];
  const request = {
    message: { messageId: randomUUID(), role: "ROLE_USER", parts },
    configuration: { returnImmediately: true, historyLength: 0 },
  };
  await caller.unary("SendMessage", request);
  const socket = connect(server.ports.http, "127.0.0.1");
  socket.write(`GET /tasks/${await begun}:subscribe HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\nconnection: close\r\n\r\n`);
  let bytes = 0;
  socket.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    socket.pause();
    // Some 3 MB/s, for longer than stalledStreamMs.
    setTimeout(() => socket.resume(), 20);
    if (bytes > 8 * MB) server.go();
  });
  await once(socket, "close");
  assert.ok(bytes > 8 * MB, `cut after ${bytes} bytes`);
  caller.close();
});
