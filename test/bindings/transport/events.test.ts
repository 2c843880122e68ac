/** Server-sent events as clients must take them, whoever wrote them (vectors/sse.json). */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { suite, test } from "node:test";
import { Code } from "@connectrpc/connect";
import { lastEventIdOf } from "../../../src/bindings/event-ids.ts";
import { EventReader, type ServerEvent } from "../../../src/bindings/event-reader.ts";
import { eventStream, JSON_BINDINGS, RawServer } from "./raw-server.ts";
import { watch } from "./ways.ts";

interface Vector {
  readonly id: string;
  readonly title: string;
  readonly input?: string;
  readonly inputBase64?: string;
  /** How a long input is made. */
  readonly inputRecipe?: string;
  readonly chunking?: string;
  readonly chunkSizes?: readonly number[];
  readonly events: readonly { readonly event: string; readonly data: string; readonly lastEventId: string }[];
  readonly finalLastEventId: string;
}

interface HttpRow {
  readonly id: string;
  readonly contentType?: string | null;
  readonly status?: number;
}

const { vectors, httpLevel } = JSON.parse(readFileSync(new URL("../../vectors/sse.json", import.meta.url), "utf8")) as {
  vectors: Vector[];
  httpLevel: HttpRow[];
};

const RECIPES: Readonly<Record<string, string>> = { "comment-long": `:${"x".repeat(70_000)}\ndata: a\n\n` };
const MiB = 1024 * 1024;

function bodyOf({ id, input = RECIPES[id], inputBase64 }: Vector): Buffer {
  assert.ok(input !== undefined || inputBase64 !== undefined, "an input, or the recipe of one");
  return inputBase64 === undefined ? Buffer.from(input ?? "") : Buffer.from(inputBase64, "base64");
}

function cut(body: Buffer, sizes: readonly number[]): Buffer[] {
  let at = 0;
  const chunks = sizes.map((size) => body.subarray(at, (at += size)));
  return [...chunks, body.subarray(at)].filter(({ length }) => length > 0);
}

function read(chunks: readonly Buffer[]): { events: ServerEvent[]; finalLastEventId: string } {
  const events: ServerEvent[] = [];
  const reader = new EventReader(MiB, (event) => events.push(event));
  for (const chunk of chunks) reader.feed(chunk);
  return { events, finalLastEventId: reader.lastEventId };
}

suite("CL-16 the reader of events", () => {
  for (const vector of vectors) {
    test(`${vector.id}: ${vector.title}`, () => {
      const body = bodyOf(vector);
      const expected = {
        events: vector.events.map(({ event, data, lastEventId }) => ({ name: event, data, lastEventId })),
        finalLastEventId: vector.finalLastEventId,
      };
      const bytes = Array.from(body, () => 1);
      for (const sizes of [vector.chunkSizes ?? [], vector.chunking === undefined ? [] : bytes, bytes]) {
        assert.deepEqual(read(cut(body, sizes)), expected);
      }
    });
  }

  test("cuts between any two bytes change nothing", () => {
    for (const vector of vectors.filter(({ inputRecipe }) => inputRecipe === undefined)) {
      const body = bodyOf(vector);
      const whole = read([body]);
      for (let at = 1; at < body.length; at++) assert.deepEqual(read(cut(body, [at])), whole, `${vector.id} at ${at}`);
    }
  });

  test("does not wait for what may follow a lone CR", () => {
    const data = (...chunks: string[]): string[] => read(chunks.map((chunk) => Buffer.from(chunk))).events.map((event) => event.data);
    assert.deepEqual(data("data: a\r\r"), ["a"]);
    assert.deepEqual(data("data: a\r", "\r"), ["a"]);
    assert.deepEqual(data("data: a\r\r", "\ndata: b\n\n"), ["a", "b"]);
  });
});

const TASK = { id: "t", contextId: "c", status: { state: "TASK_STATE_WORKING" } };
const DONE = { taskId: "t", contextId: "c", status: { state: "TASK_STATE_COMPLETED" } };
const FRAMES = ["task WORKING", "status COMPLETED"];

for (const [name, { open, wrap }] of Object.entries(JSON_BINDINGS)) {
  const event = (message: object, id?: string): string =>
    `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(wrap(message as never))}\n\n`;
  const usual = event({ task: TASK }) + event({ statusUpdate: DONE });
  const pretty = (message: object): string =>
    `${JSON.stringify(wrap(message as never), null, 2)
      .split("\n")
      .map((line) => `data: ${line}`)
      .join("\n")}\n\n`;

  /** What a client sees of a stream of such chunks. */
  const watched = async (chunks: readonly (string | Uint8Array)[], end: "end" | "destroy" = "end"): ReturnType<typeof watch> => {
    await using server = await RawServer.open(eventStream(chunks, end));
    using opened = open(server.url);
    return await watch(opened.client.subscribeToTask({ id: "t" }));
  };

  suite(`event streams over ${name}`, () => {
    const forms: Readonly<Record<string, readonly (string | Uint8Array)[]>> = {
      "as they usually are": [usual],
      "cut at every byte": Array.from(Buffer.from(usual), (byte) => Uint8Array.of(byte)),
      "with CRLF": [usual.replaceAll("\n", "\r\n")],
      "with CR alone, the last of which nothing follows": [usual.replaceAll("\n", "\r")],
      "after a byte order mark": ["\uFEFF", usual],
      "with comments between and within": [`: hello\n\n${usual.replaceAll("data:", ": hm\ndata:")}:\n\n`],
      "over several lines": [pretty({ task: TASK }), pretty({ statusUpdate: DONE })],
      "with names and fields that say nothing": [usual.replaceAll("data:", "event: update\nretry: 5\nfoo: bar\ndata:")],
      "with events of no data": [`data:\n\n${usual}data\n\n`],
      "with what comes after the last blank line cut off": [usual, `data: {"never`],
    };
    for (const [form, chunks] of Object.entries(forms)) {
      test(`CL-16 CL-17 ${form}`, async () => assert.deepEqual(await watched(chunks), { frames: FRAMES, end: "clean" }));
    }

    test("C-04 members by their old names", async () => {
      const artifact = { artifactId: "a", parts: [{ text: "x" }] };
      const old = event({ taskArtifactUpdate: { taskId: "t", contextId: "c", artifact } }) + event({ taskStatusUpdate: DONE });
      assert.deepEqual(await watched([old]), { frames: ["artifact a", "status COMPLETED"], end: "clean" });
    });

    test("what is new in a frame is passed over, and null is unset", async () => {
      const status = { state: "TASK_STATE_DREAMING", timestamp: "2026-01-02T03:04:05.678901234567Z", message: null, mood: "fine" };
      await using server = await RawServer.open(
        eventStream([
          event({ task: { ...TASK, status, artifacts: null, history: [] }, message: null, kind: "task" }),
          event({ dream: {} }),
        ]),
      );
      using opened = open(server.url);
      const stream = opened.client.subscribeToTask({ id: "t" })[Symbol.asyncIterator]();
      const [task, dream, end] = [await stream.next(), await stream.next(), await stream.next()];
      assert.ok(task.value?.payload.case === "task");
      const { state, timestamp, message } = task.value.payload.value.status ?? {};
      assert.deepEqual([state, timestamp?.nanos, message], [0, 678_901_234, undefined]);
      assert.deepEqual([dream.value?.payload.case, end.done], [undefined, true]);
    });

    test("frames know the id that a reconnection would send", async () => {
      const chunks = [event({ task: TASK }), event({ task: TASK }, "t/1.ab"), event({ task: TASK }), event({ statusUpdate: DONE }, "é…")];
      await using server = await RawServer.open(eventStream(chunks));
      using opened = open(server.url);
      const ids: (string | undefined)[] = [];
      for await (const frame of opened.client.subscribeToTask({ id: "t" })) ids.push(lastEventIdOf(frame));
      assert.deepEqual(ids, [undefined, "t/1.ab", "t/1.ab", "é…"]);
    });

    test("a connection that is reset in mid-stream is UNAVAILABLE after the frames that came", async () => {
      const { frames, end } = await watched([event({ task: TASK }), `data: {"half`], "destroy");
      assert.deepEqual([frames, end !== "clean" && end.code], [["task WORKING"], Code.Unavailable]);
    });

    test("what is no frame is INTERNAL, and ends the stream", async () => {
      for (const nonsense of ["[DONE]", "{", '"text"', "[]", "null", '{"task":[]}']) {
        const data = nonsense.startsWith("{") && name === "JSON-RPC" ? JSON.stringify(wrap(nonsense)) : nonsense;
        const { frames, end } = await watched([event({ task: TASK }), `data: ${data}\n\n`, usual]);
        assert.deepEqual([frames, end !== "clean" && end.code], [["task WORKING"], Code.Internal], nonsense);
      }
    });

    test("an event that grows beyond maxMessageBytes is RESOURCE_EXHAUSTED, in one line or many", async () => {
      for (const line of ["x".repeat(100), "x\ndata: "]) {
        await using server = await RawServer.open(
          eventStream([event({ task: TASK }), "data: ", ...Array.from({ length: 2000 }, () => line)]),
        );
        using opened = open(server.url, { maxMessageBytes: 2000 });
        const { frames, end } = await watch(opened.client.subscribeToTask({ id: "t" }));
        assert.deepEqual([frames, end !== "clean" && end.code], [["task WORKING"], Code.ResourceExhausted]);
      }
    });

    for (const [form, mark] of Object.entries({ "by its payload alone": "", "with its name too": "event: error\n" })) {
      test(`C-32 an error is told ${form}, and ends the stream`, async () => {
        const info = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" };
        const error =
          name === "JSON-RPC"
            ? { jsonrpc: "2.0", id: 1, error: { code: -32001, message: "gone", data: [info] } }
            : { error: { code: 404, status: "NOT_FOUND", message: "gone", details: [info] } };
        const { frames, end } = await watched([event({ task: TASK }), `${mark}data: ${JSON.stringify(error)}\n\n`, usual]);
        assert.deepEqual(frames, ["task WORKING"]);
        assert.ok(end !== "clean");
        assert.deepEqual([end.reason, end.code, end.message], ["TASK_NOT_FOUND", Code.NotFound, "gone"]);
      });
    }
  });

  suite(`replies to a stream's request over ${name}`, () => {
    const rows = new Map(httpLevel.map((row) => [row.id, row]));
    const row = (id: string): { status: number; type: string | undefined } => {
      const { status = 200, contentType } = rows.get(id) ?? assert.fail(`no row ${id}`);
      return { status, type: contentType ?? undefined };
    };
    const error =
      name === "JSON-RPC"
        ? { jsonrpc: "2.0", id: 1, error: { code: -32004, message: "no streams" } }
        : {
            error: {
              code: 400,
              status: "FAILED_PRECONDITION",
              message: "no streams",
              details: [
                { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "UNSUPPORTED_OPERATION", domain: "a2a-protocol.org" },
              ],
            },
          };

    /** What a client makes of a reply. */
    const answered = async (status: number, type: string | undefined, body: string): ReturnType<typeof watch> => {
      await using server = await RawServer.open({ status, type, body });
      using opened = open(server.url);
      return await watch(opened.client.subscribeToTask({ id: "t" }));
    };

    for (const id of ["http-type-params", "http-type-case", "http-charset-ignored"]) {
      test(`C-34 ${id}`, async () => {
        const { status, type } = row(id);
        assert.deepEqual(await answered(status, type, usual), { frames: FRAMES, end: "clean" });
      });
    }

    test("C-34 http-json-instead: an error, or one frame", async () => {
      const { status, type } = row("http-json-instead");
      const { frames, end } = await answered(status, type, JSON.stringify(error));
      assert.deepEqual([frames, end !== "clean" && end.reason], [[], "UNSUPPORTED_OPERATION"]);
      assert.deepEqual(await answered(status, type, JSON.stringify(wrap({ task: TASK }))), { frames: ["task WORKING"], end: "clean" });
    });

    test("C-34 http-a2a-json-error: the error", async () => {
      const { status, type } = row("http-a2a-json-error");
      const { frames, end } = await answered(status, type, JSON.stringify(error));
      assert.deepEqual([frames, end !== "clean" && [end.reason, end.message]], [[], ["UNSUPPORTED_OPERATION", "no streams"]]);
    });

    test("http-204: there is no stream, and it is not to be asked for again", async () => {
      const { status, type } = row("http-204");
      const { frames, end } = await answered(status, type, "");
      assert.deepEqual([frames, end !== "clean" && end.reason], [[], "UNSUPPORTED_OPERATION"]);
    });

    test("http-html: fails and is not parsed, whatever it looks like", async () => {
      const { status, type } = row("http-html");
      for (const body of ["<html>", usual, JSON.stringify(wrap({ task: TASK }))]) {
        const { frames, end } = await answered(status, type, body);
        assert.deepEqual([frames, end !== "clean" && end.code], [[], Code.Internal]);
      }
    });

    test("http-200-empty: no frame, then the end, which its reader judges", async () => {
      const { status, type } = row("http-200-empty");
      assert.deepEqual(await answered(status, type, ""), { frames: [], end: "clean" });
    });

    test("http-last-event-id: sent where the call has one, as UTF-8", async () => {
      await using server = await RawServer.open(eventStream([usual]));
      using opened = open(server.url);
      const value = Buffer.from("é…").toString("latin1");
      await watch(opened.client.subscribeToTask({ id: "t" }, { headers: { "last-event-id": value } }));
      await watch(opened.client.subscribeToTask({ id: "t" }));
      const sent = server.received.map(({ headers }) => headers["last-event-id"]);
      assert.deepEqual(sent, [value, undefined]);
    });

    test("an empty reply of no type is INTERNAL", async () => {
      const { end } = await answered(200, undefined, "");
      assert.equal(end !== "clean" && end.code, Code.Internal);
    });
  });
}
