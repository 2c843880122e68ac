import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { brief, collect, everywhere, failureOf, nextFrame, send, sharedBed, startTask } from "../bindings/bed.ts";
import type { Caller } from "../bindings/callers/caller.ts";
import { checkFailure, type PlainFailure } from "../bindings/failures.ts";
import { after, idOf, subscribe, whole } from "../bindings/resume/positions.ts";
import { exchange, head } from "./raw-http.ts";
import { INJECTED } from "./surface.ts";

/** What stands behind the task's id and is no position. */
const NO_POSITIONS = [
  "",
  "/",
  "/.",
  "/1",
  "/1.",
  "/.0a0b0c0d",
  "/-1.0a0b0c0d",
  "/+1.0a0b0c0d",
  "/1.5.0a0b0c0d",
  "/1e3.0a0b0c0d",
  "/0x1.0a0b0c0d",
  "/01.0a0b0c0d",
  "/1 .0a0b0c0d",
  "/1.0A0B0C0D",
  "/1.0a0b0c0",
  "/1.0a0b0c0d0",
  "/1.0a0b0c0g",
  "/10000000000.0a0b0c0d",
  "/9007199254740993.0a0b0c0d",
  "/99999999999999999999999999.0a0b0c0d",
  "/NaN.0a0b0c0d",
  "/Infinity.0a0b0c0d",
  "/1.0a0b0c0d/",
  "/1.0a0b0c0d,",
  "/1.0a0b0c0d; a=b",
  `/${"1".repeat(5000)}.0a0b0c0d`,
  `/1.${"a".repeat(5000)}`,
];

suite("a position that is forged", { timeout: 120_000 }, () => {
  const bed = sharedBed();
  const refused = async (call: Parameters<typeof failureOf>[0], caller: Caller): Promise<PlainFailure> => {
    const failure = await failureOf(call);
    assert.ok(failure.message.length < 300);
    return checkFailure(caller, failure, "INVALID_ARGUMENT", ["Last-Event-ID"]);
  };

  everywhere("R-225 is refused where it is none, of a stream and of a send, and begins nothing", bed, async (caller) => {
    const { id, frames } = await whole(caller, "complete");
    const failures: PlainFailure[] = [];
    const contextId = crypto.randomUUID();
    const request = send("return", { message: { contextId } });
    for (const position of [...NO_POSITIONS.map((text) => `${id}${text}`), idOf(frames[0] ?? {}).slice(36)]) {
      failures.push(await refused(subscribe(caller, id, position), caller));
      failures.push(await refused(caller.stream("SendStreamingMessage", request, after(position)), caller));
      failures.push(await refused(caller.unary("SendMessage", request, after(position)), caller));
    }
    assert.equal((await caller.unary("ListTasks", { contextId })).message["totalSize"], undefined);
    return failures;
  });

  everywhere("P-3 is no way into another task", bed, async (caller) => {
    const [{ id, frames }, other] = [await whole(caller, "complete"), await whole(caller, "complete")];
    const position = idOf(frames[1] ?? {});
    const failures = [await refused(subscribe(caller, other.id, position), caller)];
    // A send that brings one goes on with its own task only.
    failures.push(await refused(caller.stream("SendStreamingMessage", send("return"), after(position)), caller));
    const unknown = `${crypto.randomUUID()}/1.0a0b0c0d`;
    failures.push(checkFailure(caller, await failureOf(caller.unary("SendMessage", send("return"), after(unknown))), "TASK_NOT_FOUND"));
    failures.push(checkFailure(caller, await failureOf(subscribe(caller, "nothing", "nothing/1.0a0b0c0d")), "TASK_NOT_FOUND"));
    assert.equal((await collect(subscribe(caller, id, position))).end, "clean");
    return failures.map(({ reason, violations }) => [reason, violations]);
  });

  everywhere("P-3 of a place that no log has is answered with the task, and what comes after it", bed, async (caller) => {
    const id = await startTask(caller, "input");
    const seen = [];
    for (const position of ["0.00000000", "1.00000000", "2.ffffffff", "9999999999.0a0b0c0d", "4294967296.0a0b0c0d"]) {
      const stream = subscribe(caller, id, `${id}/${position}`);
      seen.push(brief(await nextFrame(stream)));
      stream.leave();
    }
    assert.deepEqual(new Set(seen), new Set(["task INPUT_REQUIRED"]));
    return seen;
  });

  test("is refused on its way where it would bring in a header of its own", async () => {
    const { ports } = bed().server;
    for (const ending of ["\r\n", "\n", "\r", "\0"]) {
      const headers = { "a2a-extensions": "urn:throughline:a2a:log:v1", "last-event-id": `x/1.0a0b0c0d${ending}${INJECTED}: yes` };
      const received = await exchange(ports.http, head("GET /tasks/x:subscribe", headers));
      assert.doesNotMatch(received, new RegExp(`^${INJECTED}`, "m"));
      assert.match(received, /^HTTP\/1\.1 40[04] /);
    }
  });
});
