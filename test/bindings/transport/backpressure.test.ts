/** A reader that is slower than its stream holds a bounded part of it, and the server finds out. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { PlainGrpcServer, taskFrame } from "./plain-grpc-server.ts";
import { type Answer, JSON_BINDINGS, RawServer } from "./raw-server.ts";
import type { A2AClient } from "./ways.ts";

const MiB = 1024 * 1024;
const TEXT = "x".repeat(64 * 1024);
const FRAMES = 1024;
/** Sockets of one machine hold up to 10 MiB, the reader's queue 4. */
const MOST = 24 * MiB;

/** How many frames a server could write so far, and whether it wrote them all. */
class Count {
  written = 0;

  /** Reads one frame, waits until the server stands still, and reads the rest. */
  async check(caller: A2AClient): Promise<void> {
    const stream = caller.subscribeToTask({ id: "t" })[Symbol.asyncIterator]();
    assert.equal((await stream.next()).done, false);
    for (let before = -1; before !== this.written;) {
      before = this.written;
      await delay(250);
    }
    assert.ok(this.written * TEXT.length < MOST, `${this.written} frames were taken that nobody reads`);
    let read = 1;
    while ((await stream.next()).done !== true) read += 1;
    assert.equal(read, FRAMES);
  }
}

test("a stream of gRPC that nobody reads stands still", async () => {
  const count = new Count();
  const bytes = taskFrame(TEXT);
  await using server = await PlainGrpcServer.open({
    subscribe(call) {
      const write = (): void => {
        while (count.written < FRAMES) {
          count.written += 1;
          if (!call.write(bytes)) {
            call.once("drain", write);
            return;
          }
        }
        call.end();
      };
      write();
    },
  });
  using opened = server.client();
  await count.check(opened.client);
});

for (const [name, { open, wrap }] of Object.entries(JSON_BINDINGS)) {
  test(`a stream of ${name} that nobody reads stands still`, async () => {
    const count = new Count();
    const event = `data: ${JSON.stringify(wrap({ task: { id: TEXT } }))}\n\n`;
    const answer: Answer = {
      type: "text/event-stream",
      async write(response) {
        for (; count.written < FRAMES; count.written += 1) {
          await new Promise((resolve) => response.write(event, resolve));
        }
        response.end();
      },
    };
    await using server = await RawServer.open(answer);
    using opened = open(server.url);
    await count.check(opened.client);
  });
}
