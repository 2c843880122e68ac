import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { type ClientHttp2Session, connect, type Http2Stream } from "node:http2";
import { after, before, suite, test } from "node:test";
import { Client, credentials, type handleUnaryCall, Metadata, Server, ServerCredentials } from "@grpc/grpc-js";
import { http2StreamOf } from "../../../src/bindings/grpc/http2-stream.ts";
import { letGo } from "../../../src/bindings/grpc/let-go.ts";
import { encodeRequest, methodOf, pathOf } from "../callers/envelopes.ts";

const WARM_UP = 1500;
const CALLS = 1000;
const ROUNDS = 4;
const AT_ONCE = 4;
/** What a call may leave behind for a major collection. Its streams alone are up to 3 kB; with all they refer to it would be 8 to 10 kB. */
const MAX_BYTES = 5000;

suite("what a finished call leaves on the heap", () => {
  let child: ChildProcess;
  const sessions: ClientHttp2Session[] = [];

  before(async () => {
    // With so much room no major collection comes by itself, and none hides what is kept.
    const execArgv = ["--expose-gc", "--initial-heap-size=3000"];
    child = fork(new URL("finished-calls-server.ts", import.meta.url), [], { execArgv, stdio: ["ignore", "inherit", "inherit", "ipc"] });
    const [{ ports }] = (await once(child, "message")) as [{ ports: { grpc: number; http: number } }];
    for (const port of [ports.grpc, ports.http]) sessions.push(connect(`http://127.0.0.1:${port}`));
  });

  after(async () => {
    for (const session of sessions) session.destroy();
    const exited = once(child, "exit");
    child.send("end");
    await exited;
  });

  async function heapUsed(word: "warm" | "look"): Promise<number> {
    child.send(word);
    const [answer] = (await once(child, "message")) as [{ heapUsed: number }];
    return answer.heapUsed;
  }

  /** Bytes per call, of the round with the fewest: code that is compiled meanwhile adds to some. */
  async function growth(call: () => Promise<void>): Promise<number> {
    const many = async (calls: number): Promise<void> => {
      const some = async (): Promise<void> => {
        for (let made = 0; made < calls / AT_ONCE; made += 1) await call();
      };
      await Promise.all(Array.from({ length: AT_ONCE }, some));
    };
    await many(WARM_UP);
    let earlier = await heapUsed("warm");
    let least = Number.POSITIVE_INFINITY;
    for (let round = 0; round < ROUNDS; round += 1) {
      await many(CALLS);
      const now = await heapUsed("look");
      least = Math.min(least, (now - earlier) / CALLS);
      earlier = now;
    }
    return least;
  }

  /** A call for a task that there is not. */
  async function asked(session: ClientHttp2Session, method: string, type: string): Promise<void> {
    const request = encodeRequest(methodOf(method), "proto", { id: "01a229d2-e786-7878-8261-7265d86cac00" }, {});
    const head = Buffer.alloc(5);
    head.writeUInt32BE(request.length, 1);
    const headers = { ":method": "POST", ":path": pathOf(method), "content-type": type, te: "trailers", "a2a-version": "1.0" };
    const stream = session.request(headers);
    stream.resume().end(type === "application/proto" ? request : Buffer.concat([head, request]));
    await once(stream, "close");
  }

  const cases = [
    ["a unary call over gRPC", 0, "GetTask", "application/grpc"],
    ["a stream over gRPC", 0, "SubscribeToTask", "application/grpc"],
    ["a unary call over HTTP/2", 1, "GetTask", "application/proto"],
    ["a stream over HTTP/2", 1, "SubscribeToTask", "application/connect+proto"],
  ] as const;
  for (const [what, port, method, type] of cases) {
    test(`${what} goes with a minor collection`, async () => {
      const bytes = await growth(() => asked(sessions[port] as ClientHttp2Session, method, type));
      assert.ok(bytes < MAX_BYTES, `${bytes.toFixed(0)} bytes a call`);
    });
  }
});

suite("letGo", () => {
  const bytes = (value: Buffer): Buffer => value;
  const shared = { path: "/test.Test/Call", requestStream: false, requestSerialize: bytes, requestDeserialize: bytes } as const;
  const unary = { ...shared, responseStream: false, responseSerialize: bytes, responseDeserialize: bytes } as const;
  type Handler = handleUnaryCall<Buffer, Buffer>;

  /** Serves one call of a bare server. */
  async function called(handler: Handler): Promise<void> {
    const server = new Server();
    server.addService({ Call: unary }, { Call: handler });
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => (error === null ? resolve(port) : reject(error)));
    const client = new Client(`127.0.0.1:${await promise}`, credentials.createInsecure());
    const answered = Promise.withResolvers<void>();
    client.makeUnaryRequest(unary.path, bytes, bytes, Buffer.from("x"), () => answered.resolve());
    await answered.promise;
    client.close();
    server.forceShutdown();
  }

  test("a call is whole until its stream has closed, refers to nothing then, and outlives errors that come late", async () => {
    let call: Parameters<Handler>[0] | undefined;
    let stream: Http2Stream | undefined;
    const emptied = Promise.withResolvers<void>();
    await called((given, callback) => {
      call = given;
      stream = http2StreamOf(given);
      letGo(given);
      assert.equal(given.request.toString(), "x");
      stream.once("close", () => setImmediate(() => setImmediate(emptied.resolve)));
      callback(null, Buffer.from("y"));
    });
    await emptied.promise;
    assert.ok(call !== undefined && stream !== undefined);
    assert.deepEqual([call.request, call.metadata], [undefined, undefined]);
    const below = (call as unknown as { call: Record<string, unknown> }).call;
    assert.deepEqual([below["stream"], below["listener"], below["metadata"], below["decoder"]], [undefined, null, undefined, undefined]);
    for (const emitter of [call, stream]) {
      assert.deepEqual(emitter.eventNames(), ["error"]);
      emitter.emit("error", new Error("late"));
    }
    // What a handler does too late has no effect.
    call.sendMetadata(new Metadata());
  });

  test("a call whose stream is closed already is let go of in the next turn", async () => {
    const emptied = Promise.withResolvers<boolean>();
    const late: Handler = (call) => {
      const stream = http2StreamOf(call);
      stream.once("close", () => {
        letGo(call);
        setImmediate(() => emptied.resolve(call.request === undefined));
      });
      stream.close();
    };
    await called(late);
    assert.equal(await emptied.promise, true);
  });
});
