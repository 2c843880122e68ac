/** Page tokens and positions: those of this server, changed. */
import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import { CallFailed } from "../../bindings/callers/caller.ts";
import { Served } from "../served.ts";
import type { Target } from "../target.ts";

const LOG_URI = "urn:throughline:a2a:log:v1";
const FAULTS: ReadonlySet<string | undefined> = new Set(["INVALID_ARGUMENT", "TASK_NOT_FOUND", "UNSUPPORTED_OPERATION", undefined]);
/** A stream that goes on after a position may have nothing to say for ever. */
const QUIET_MS = 200;

/** A token or position that is not this server's is bad input, or means what it says; it breaks nothing. */
export const tokens: Target = {
  name: "tokens",
  async open() {
    const served = await Served.open();
    const ids = [await served.send("input"), await served.send("complete"), await served.send("input")];
    const { nextPageToken } = (await served.rest.unary("ListTasks", { pageSize: 1 })).message as { nextPageToken: string };
    const decoded = Buffer.from(nextPageToken, "base64url");
    return {
      async input(random) {
        const caller = random.pick(served.callers);
        const call = async (): Promise<void> => {
          if (random.chance(0.5)) {
            const forged = random.chance(0.5)
              ? random.mutated(Buffer.from(nextPageToken)).toString("latin1")
              : random.mutated(decoded).toString("base64url");
            const request: JsonObject = { pageSize: 1 + random.below(3), pageToken: forged.toWellFormed() };
            await caller.unary("ListTasks", request);
            return;
          }
          const id = random.pick(ids);
          const position = random
            .mutated(Buffer.from(`${id}/${random.below(5)}.00000000`))
            .toString("latin1")
            .replaceAll(/[^\x20-\x7e]/g, "?");
          const stream = caller.stream("SubscribeToTask", { id }, { headers: { "a2a-extensions": LOG_URI, "last-event-id": position } });
          const quiet = new Promise((resolve) => setTimeout(resolve, QUIET_MS));
          const first = stream.next();
          await Promise.race([first, quiet]);
          first.catch(() => undefined);
          stream.leave();
        };
        await call().catch((error: unknown) => {
          assert.ok(error instanceof CallFailed && FAULTS.has(error.failure.reason), String(error));
        });
      },
      check: () => served.check(),
      [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
    };
  },
};
