/** The bench profile: what each word of a script does to the stream. Waits are only looked at from below: a busy machine makes them longer. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { BadScript, parseScript } from "../../../examples/conformance-agent/bench-script.ts";
import { serveProfile, type SuiteBed, triggered } from "./suite/bed.ts";
import type { SuiteClient } from "./suite/client.ts";
import { framesOf, next, outline, readTask, taskIn } from "./suite/read.ts";

/** Timers may fire so much early. */
const EARLY_NS = 2_000_000n;

suite("the bench profile", { timeout: 120_000 }, () => {
  let bed: SuiteBed;
  before(async () => {
    bed = await serveProfile("bench");
  });
  after(() => bed[Symbol.asyncDispose]());

  const script = (client: SuiteClient, text: string): JsonObject => triggered("bench", client, { parts: [{ text }] });
  const run = async (client: SuiteClient, text: string): Promise<{ frames: JsonObject[]; texts: string[] }> => {
    const frames = await framesOf(client.stream(script(client, text)));
    return { frames, texts: frames.flatMap(updateTexts) };
  };

  test("by default: submitted, working, three chunks of one artifact with 100 bytes each, completed", async () => {
    for (const client of bed.clients) {
      const { frames, texts } = await run(client, "");
      const kinds = outline(frames).map((line) => line.replace(/ t=.*/, ""));
      assert.deepEqual(kinds, ["task SUBMITTED", "status WORKING", "artifact", "+artifact", "+artifact!", "status COMPLETED"]);
      assert.deepEqual(
        texts.map((text) => Buffer.byteLength(text)),
        [100, 100, 100],
      );
      assert.equal(taskIn(await client.send(script(client, ""))).artifacts.length, 1);
    }
  });

  test("events, bytes and kind: as many updates as asked for, that large, of that kind", async () => {
    const [client] = bed.clients;
    const status = await run(client, "events=5 bytes=1000 kind=status");
    assert.deepEqual(outline(status.frames), ["task SUBMITTED", ...Array<string>(6).fill("status WORKING"), "status COMPLETED"]);
    assert.deepEqual(
      status.texts.map((text) => text.length),
      Array(5).fill(1000),
    );
    const many = await run(client, "events=1000 bytes=10");
    assert.equal(many.texts.length, 1000);
    const none = await run(client, "events=0");
    assert.deepEqual(outline(none.frames), ["task SUBMITTED", "status WORKING", "status COMPLETED"]);
  });

  test("each text begins with the time at which it was made, on the clock of all processes of the host", async () => {
    const [client] = bed.clients;
    const sent = process.hrtime.bigint();
    const { texts } = await run(client, "events=20 bytes=1");
    const stamps = texts.map(stampOf);
    assert.equal(stamps.length, 20);
    assert.ok(sent <= (stamps[0] ?? 0n) && (stamps.at(-1) ?? 0n) <= process.hrtime.bigint());
    assert.deepEqual(
      stamps,
      stamps.toSorted((a, b) => Number(a - b)),
    );
  });

  test("start, delay and hold: time before the first update, between two, and before the end", async () => {
    const [client] = bed.clients;
    const sent = process.hrtime.bigint();
    const { texts } = await run(client, "events=3 start=60 delay=40 hold=50");
    const completed = process.hrtime.bigint();
    const [first = 0n, , last = 0n] = texts.map(stampOf);
    assert.ok(first - sent >= 60_000_000n - EARLY_NS);
    assert.ok(last - sent >= 140_000_000n - 3n * EARLY_NS);
    assert.ok(completed - last >= 50_000_000n - EARLY_NS);
  });

  test("a task that holds is canceled at once", async () => {
    for (const client of bed.clients) {
      const stream = client.stream(script(client, "events=0 hold=600000"));
      const { id } = readTask((await next(stream))["task"] as JsonObject);
      assert.deepEqual(outline([await next(stream)]), ["status WORKING"]);
      assert.equal(readTask(await client.cancelTask(id)).state, "CANCELED");
      assert.deepEqual(outline(await framesOf(stream)), ["status CANCELED"]);
    }
  });

  test("what is no script is rejected, with the word that is wrong", async () => {
    const [client] = bed.clients;
    for (const [text, word] of [
      ["events=many", "events"],
      ["events=-1", "events"],
      ["bytes=1e9", "bytes"],
      ["bytes=99999999999", "bytes"],
      ["delay=", "delay"],
      ["kind=both", "kind"],
    ] as const) {
      const task = taskIn(await client.send(script(client, text)));
      assert.equal(task.state, "REJECTED");
      assert.ok(task.says.startsWith(`${word} is `), task.says);
      assert.throws(() => parseScript(text), BadScript);
    }
    assert.equal(taskIn(await client.send(script(client, "hello there colour=red"))).state, "COMPLETED");
  });
});

/** The text of an update that a script has made. */
function updateTexts(frame: JsonObject): string[] {
  const { artifactUpdate, statusUpdate } = frame as Record<string, JsonObject | undefined>;
  const holder = artifactUpdate?.["artifact"] ?? (statusUpdate?.["status"] as JsonObject | undefined)?.["message"];
  return (((holder as JsonObject | undefined)?.["parts"] ?? []) as { text: string }[]).map(({ text }) => text);
}

function stampOf(text: string): bigint {
  const [, stamp] = /^t=(\d+) /.exec(text) ?? [];
  return BigInt(stamp ?? assert.fail(`no stamp in ${text}`));
}
