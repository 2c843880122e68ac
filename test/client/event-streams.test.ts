/** What the client makes of other servers' event streams and of what comes in their place (vectors/sse.json, httpLevel). */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { suite, test } from "node:test";
import { create, type JsonValue } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { AgentCardSchema, type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AClient } from "../../src/client/a2a-client.ts";
import type { A2AError, StillRunningError } from "../../src/client/a2a-error.ts";
import type { ClientBinding } from "../../src/client/client-options.ts";
import { isTask } from "../../src/client/task-view.ts";
import { type Answer, eventStream, idOf, RawServer, type Received } from "../bindings/transport/raw-server.ts";

interface HttpRow {
  readonly id: string;
  readonly contentType?: string | null;
  readonly status?: number;
}

const { httpLevel } = JSON.parse(readFileSync(new URL("../vectors/sse.json", import.meta.url), "utf8")) as { httpLevel: HttpRow[] };

const INFO = "type.googleapis.com/google.rpc.ErrorInfo";
const TASK = { id: "t", contextId: "c", status: { state: "TASK_STATE_WORKING" } };
const DONE = { ...TASK, status: { state: "TASK_STATE_COMPLETED" } };
const COMPLETED = { taskId: "t", contextId: "c", status: DONE.status };
const CHUNK = { taskId: "t", contextId: "c", artifact: { artifactId: "a", parts: [{ text: "x" }] } };

/** A request as the operation that it is. */
type Operation = "send" | "subscribe" | "get";

/** Requests and replies of a binding that carries JSON. */
interface Form {
  readonly operationOf: (request: Received) => Operation;
  readonly wrap: (message: JsonValue, request: Received) => JsonValue;
}

const FORMS: Readonly<Record<"HTTP+JSON" | "JSONRPC", Form>> = {
  "HTTP+JSON": {
    operationOf: ({ target }) => (target.endsWith(":stream") ? "send" : target.endsWith(":subscribe") ? "subscribe" : "get"),
    wrap: (message) => message,
  },
  JSONRPC: {
    operationOf: ({ body }) => {
      const { method } = JSON.parse(body) as { method: string };
      return method === "SendStreamingMessage" ? "send" : method === "SubscribeToTask" ? "subscribe" : "get";
    },
    wrap: (message, request) => ({ jsonrpc: "2.0", id: idOf(request), result: message }),
  },
};

function row(id: string): { readonly status: number; readonly type: string | undefined } {
  const { status = 200, contentType } = httpLevel.find((one) => one.id === id) ?? assert.fail(`no row ${id}`);
  return { status, type: contentType ?? undefined };
}

for (const [binding, { operationOf, wrap }] of Object.entries(FORMS)) {
  /** A stream of these frames, each with its id where it has one. */
  const stream = (request: Received, ...frames: readonly (readonly [message: JsonValue, id?: string])[]): Answer =>
    eventStream(
      frames.map(([message, id]) => `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(wrap(message, request))}\n\n`),
    );
  const reply = (request: Received, message: JsonValue): Answer => ({ body: JSON.stringify(wrap(message, request)) });

  const unsupported = (request: Received): Answer => {
    const details = [{ "@type": INFO, reason: "UNSUPPORTED_OPERATION", domain: "a2a-protocol.org" }];
    const error = { code: 400, status: "FAILED_PRECONDITION", message: "it has ended", details };
    const body =
      binding === "JSONRPC" ? { jsonrpc: "2.0", id: idOf(request), error: { code: -32004, message: "it has ended" } } : { error };
    return { status: binding === "JSONRPC" ? 200 : 400, body: JSON.stringify(body) };
  };

  /** Runs a step with a client of a server that answers so; `visit` counts the requests for the same from 1. */
  const against = async (
    answer: (operation: Operation, request: Received, visit: number) => Answer,
    step: (client: A2AClient, asked: () => string[], received: readonly Received[]) => Promise<void>,
  ): Promise<void> => {
    const visits = new Map<Operation, number>();
    await using server = await RawServer.open((request) => {
      const operation = operationOf(request);
      visits.set(operation, (visits.get(operation) ?? 0) + 1);
      return answer(operation, request, visits.get(operation) ?? 0);
    });
    const supportedInterfaces = [{ protocolBinding: binding, url: server.url, protocolVersion: "1.0" }];
    const card = create(AgentCardSchema, { name: "other", version: "1", capabilities: { streaming: true }, supportedInterfaces });
    const bindings = [binding as ClientBinding];
    await using client = await A2AClient.connect(card, { bindings, attempts: 1, reconnect: { attempts: 3, baseMs: 1, maxMs: 2 } });
    await step(client, () => server.received.map(operationOf), server.received);
  };

  const endsWith = async (run: PromiseLike<unknown>, state: TaskState): Promise<Task> => {
    const task = await run;
    assert.ok(isTask(task as Task));
    assert.equal((task as Task).status?.state, state);
    return task as Task;
  };

  suite(`other servers' event streams over ${binding}`, () => {
    for (const id of ["http-type-params", "http-type-case", "http-charset-ignored"]) {
      test(`C-34 ${id}: read to the task's end`, () =>
        against(
          (_, request) => ({ ...stream(request, [{ task: TASK }], [{ statusUpdate: COMPLETED }]), ...row(id) }),
          async (client) => void (await endsWith(client.send("go"), TaskState.COMPLETED)),
        ));
    }

    test("C-34 http-json-instead: one reply is one frame, and the task is followed from there", () =>
      against(
        (operation, request) =>
          operation === "send" ? { ...reply(request, { task: TASK }), ...row("http-json-instead") } : stream(request, [{ task: DONE }]),
        async (client, asked) => {
          await endsWith(client.send("go"), TaskState.COMPLETED);
          assert.deepEqual(asked(), ["send", "subscribe"]);
        },
      ));

    test("CL-10 http-204: no stream is asked for again, GetTask has the last word", () =>
      against(
        (operation, request) => {
          if (operation === "get") return reply(request, DONE);
          return operation === "send" ? stream(request, [{ task: TASK }]) : { ...row("http-204"), body: "" };
        },
        async (client, asked) => {
          await endsWith(client.send("go"), TaskState.COMPLETED);
          assert.deepEqual(asked(), ["send", "subscribe", "get"]);
        },
      ));

    test("CL-08 CL-09 what comes after a cut stands in for what came before: no part twice, and none missing", () =>
      against(
        (operation, request) => {
          if (operation === "send") return stream(request, [{ task: TASK }], [{ artifactUpdate: CHUNK }]);
          const artifact = { artifactId: "a", parts: [{ text: "x" }, { text: "y" }] };
          const tail = { ...CHUNK, append: true, artifact: { artifactId: "a", parts: [{ text: "z" }] } };
          return stream(request, [{ task: { ...TASK, artifacts: [artifact] } }], [{ artifactUpdate: tail }], [{ statusUpdate: COMPLETED }]);
        },
        async (client) => {
          const pieces: string[] = [];
          const run = client.send("go");
          for await (const piece of run.text()) pieces.push(piece);
          assert.deepEqual(pieces, ["x", "y", "z"]);
          const { artifacts } = await endsWith(run, TaskState.COMPLETED);
          assert.deepEqual([artifacts[0]?.parts.length, run.incomplete.size], [3, 0]);
        },
      ));

    test("CL-10 a task that has ended meanwhile is read, and the work is not sent again", () =>
      against(
        (operation, request) => {
          if (operation === "get") return reply(request, DONE);
          if (operation === "send") return stream(request, [{ task: TASK }]);
          return unsupported(request);
        },
        async (client, asked) => {
          await endsWith(client.send("go"), TaskState.COMPLETED);
          assert.deepEqual(asked(), ["send", "subscribe", "get"]);
        },
      ));

    test("CL-05 http-200-empty: a stream that ends without a frame is incomplete, and is asked for again", () =>
      against(
        (operation, request, visit) => {
          if (operation === "send") return stream(request, [{ task: TASK }]);
          return visit === 1 ? { ...row("http-200-empty"), body: "" } : stream(request, [{ task: DONE }]);
        },
        async (client, asked) => {
          await endsWith(client.send("go"), TaskState.COMPLETED);
          assert.deepEqual(asked(), ["send", "subscribe", "subscribe"]);
        },
      ));

    test("CL-12 http-html: is not read, however often; what the task is then GetTask tells", () =>
      against(
        (operation, request) => {
          if (operation === "get") return reply(request, TASK);
          const read = stream(request, [{ task: DONE }]);
          return operation === "send" ? stream(request, [{ task: TASK }]) : { ...read, ...row("http-html") };
        },
        async (client, asked) => {
          await assert.rejects(
            async () => client.send("go"),
            (error: StillRunningError) => error.name === "StillRunningError" && error.task.status?.state === TaskState.WORKING,
          );
          assert.deepEqual(asked(), ["send", "subscribe", "subscribe", "subscribe", "get"]);
        },
      ));

    test("http-a2a-json-error: is the error, and the send is not made again", () =>
      against(
        () => {
          const info = { "@type": INFO, reason: "VERSION_NOT_SUPPORTED", domain: "a2a-protocol.org" };
          const error = { code: 400, status: "FAILED_PRECONDITION", message: "not that one", details: [info] };
          return { ...row("http-a2a-json-error"), body: JSON.stringify({ error }) };
        },
        async (client, asked) => {
          await assert.rejects(
            async () => client.send("go"),
            (error: A2AError) => error.reason === "VERSION_NOT_SUPPORTED" && error.code === Code.FailedPrecondition,
          );
          assert.deepEqual(asked(), ["send"]);
        },
      ));

    test("http-last-event-id: told when it comes back and not before, as UTF-8; not where the last id is empty", () =>
      against(
        (operation, request, visit) => {
          if (operation === "send") return stream(request, [{ task: TASK }, "é…"]);
          if (visit === 1) return stream(request, [{ artifactUpdate: CHUNK }, ""]);
          return stream(request, [{ statusUpdate: COMPLETED }]);
        },
        async (client, asked, received) => {
          const task = await endsWith(client.send("go"), TaskState.COMPLETED);
          assert.equal(task.artifacts.length, 1);
          assert.deepEqual(asked(), ["send", "subscribe", "subscribe"]);
          const utf8 = Buffer.from("é…").toString("latin1");
          assert.deepEqual(
            received.map(({ headers }) => headers["last-event-id"]),
            [undefined, utf8, undefined],
          );
        },
      ));
  });
}
