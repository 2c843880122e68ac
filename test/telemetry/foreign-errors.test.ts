/** What agents throw is told in the log, whatever it is: without what gives access, without end, and with no harm to the turn or the process. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { working } from "../../src/core/events.ts";
import type { Log } from "../../src/core/telemetry.ts";
import { pinoLog } from "../../src/server/telemetry/pino-log.ts";
import { serve } from "../../src/server/serve.ts";
import { GrpcCaller } from "../bindings/callers/grpc.ts";
import { send, taskOf } from "../bindings/bed.ts";
import { agentOf } from "../worker/bed.ts";
import { countOf, recordTelemetry } from "./recorded.ts";

const recorded = recordTelemetry();
const fails = (): never => {
  throw new Error("a getter");
};
const revoked = Proxy.revocable({}, {});
revoked.revoke();
const circular = Object.assign(new Error("circular"), { self: {} });
circular.self = circular;
circular.cause = circular;

/** Errors that loggers stumble over. */
const ERRORS: Readonly<Record<string, unknown>> = {
  frozen: Object.freeze(new Error("frozen")),
  "an error with a getter that throws": Object.defineProperty(new Error("getter"), "why", { enumerable: true, get: fails }),
  "an error whose parts have one": Object.assign(new Error("parts"), {
    part: {
      get why(): string {
        return fails();
      },
    },
  }),
  "an error with a toJSON that throws": Object.assign(new Error("toJSON"), { toJSON: fails, big: 1n }),
  "an error in a circle": circular,
  "an error that cannot be looked at": new Proxy(new Error("hidden"), { get: fails }),
  "no error": {
    get message(): string {
      return fails();
    },
  },
  nothing: undefined,
  "a text": "text",
};

/** A server whose agent throws what it is told to, and what became of its tasks. */
async function openThrowing(log: Log): Promise<AsyncDisposable & { readonly saidOf: (error: unknown) => Promise<string> }> {
  let thrown: unknown;
  const agent = agentOf(async function* () {
    yield working("on it");
    throw thrown;
  });
  const server = await serve({ agent, log, grpcPort: 0, httpPort: 0, opsPort: 0 });
  const caller = new GrpcCaller(server.ports.grpc);
  return {
    async saidOf(error) {
      thrown = error;
      const { status } = taskOf(await caller.unary("SendMessage", send("go")));
      return (status as { message: { parts: { text: string }[] } }).message.parts.map(({ text }) => text).join("");
    },
    async [Symbol.asyncDispose]() {
      caller.close();
      await server.drain({ atOnce: true, skip: AbortSignal.abort() });
    },
  };
}

suite("whatever an agent throws", () => {
  test("fails its turn, and is told in one line", async () => {
    const lines: JsonObject[] = [];
    const log = pinoLog("error", { write: (line) => void lines.push(JSON.parse(line) as JsonObject) });
    await using throwing = await openThrowing(log);
    for (const [what, error] of Object.entries(ERRORS)) {
      lines.length = 0;
      assert.equal(await throwing.saidOf(error), "the agent failed", what);
      assert.deepEqual(
        lines.map(({ msg }) => msg),
        ["the agent threw"],
        what,
      );
    }
    assert.equal(countOf(await recorded.measured("throughline.turns.running"), {}), 0);
  });

  test("fails its turn where the program's own log throws at it", async () => {
    const told: string[] = [];
    const say = (facts: Readonly<Record<string, unknown>>, message: string): void => {
      if (facts["error"] !== undefined) throw new Error("a logger");
      told.push(message);
    };
    await using throwing = await openThrowing({ info: say, warn: say, error: say });
    assert.equal(await throwing.saidOf(new Error("why")), "the agent failed");
    assert.ok(told.includes("the agent threw"));
    await using silent = await openThrowing({ info: fails, warn: fails, error: fails });
    assert.equal(await silent.saidOf(new Error("why")), "the agent failed");
  });
});

suite("a line about an error", () => {
  const lineOf = (error: unknown): string => {
    const lines: string[] = [];
    pinoLog("info", { write: (line) => void lines.push(line) }).error({ taskId: "t", error }, "said");
    assert.equal(lines.length, 1);
    return lines[0] ?? "";
  };

  test("says what it is, what it says, where it comes from and what caused it", () => {
    const error = new TypeError("outer", { cause: Object.assign(new Error("inner"), { code: "ECONNRESET" }) });
    const told = (JSON.parse(lineOf(error)) as { error: { type: string; message: string; stack: string; cause: object } }).error;
    assert.deepEqual([told.type, told.message], ["TypeError", "outer"]);
    assert.match(told.stack, /foreign-errors\.test\.ts/);
    assert.partialDeepStrictEqual(told.cause, { type: "Error", message: "inner", code: "ECONNRESET" });
    assert.match(lineOf(new AggregateError([new Error("one of them")])), /one of them/);
  });

  test("has what gives access replaced, however deep it is and however it is written", () => {
    const config = { url: "http://127.0.0.1", headers: { Authorization: "s3cret" }, auth: { username: "ann", password: "s3cret" } };
    const parts = { config, response: { config, headers: { "set-cookie": "s3cret" } }, request: { _header: "Authorization: s3cret" } };
    const foreign = Object.assign(new Error("said no"), parts, { accessToken: "s3cret", "X-API-Key": "s3cret", client_secret: "s3cret" });
    const wrapped = new AggregateError([foreign], "outer", { cause: new Error("between", { cause: foreign }) });
    for (const error of [foreign, wrapped]) {
      assert.doesNotMatch(lineOf(error), /s3cret/);
      assert.match(lineOf(error), /said no.*ann|ann.*said no/s);
    }
  });

  test("is of a length that can be lived with", () => {
    const body = "x".repeat(1_000_000);
    const many = Array.from({ length: 100_000 }, (_, index) => ({ index }));
    assert.ok(lineOf(Object.assign(new Error(body), { body, many, bytes: Buffer.alloc(1_000_000) })).length < 100_000);
  });
});
