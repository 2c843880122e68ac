/** The log as lines of JSON: one for each call, at a level that can be lived with, with ids and without secrets. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { suite, test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { pinoLog } from "../../src/server/telemetry/pino-log.ts";
import type { ServeInit } from "../../src/server/serve.ts";
import { type Bed, collect, failureOf, nextFrame, openBed, send, taskOf } from "../bindings/bed.ts";
import { ROOT } from "../e2e/server-process.ts";
import { ScenarioAgent } from "../bindings/scenario-agent.ts";
import { callersTrace, recordTelemetry } from "./recorded.ts";

const recorded = recordTelemetry();
const LEVELS: Readonly<Record<number, string>> = { 20: "debug", 30: "info", 40: "warn", 50: "error" };

/** A server, and the lines that it has written. */
async function openLogged(level: string, init: Partial<ServeInit> = {}): Promise<{ bed: Bed; agent: ScenarioAgent; lines: JsonObject[] }> {
  const lines: JsonObject[] = [];
  const log = pinoLog(level, { write: (line) => void lines.push(JSON.parse(line) as JsonObject) });
  const agent = new ScenarioAgent();
  return { bed: await openBed({ ...init, log }, agent), agent, lines };
}

/** The lines of calls: those that name a binding. */
async function callLines(lines: readonly JsonObject[], count: number): Promise<JsonObject[]> {
  const calls = (): JsonObject[] => lines.filter((line) => line["binding"] !== undefined);
  while (calls().length < count) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(calls().length, count);
  return calls();
}

suite("the log of calls", () => {
  test("has one line for each call on every binding, with the ids of its task and of its trace", async () => {
    const { bed, lines } = await openLogged("debug");
    await using _ = bed;
    for (const [index, caller] of bed.callers.entries()) {
      const { traceId, headers } = callersTrace();
      const task = taskOf(await caller.unary("SendMessage", send("complete"), { headers }));
      const line = (await callLines(lines, index + 1)).at(-1) as JsonObject;
      const { level, binding, operation, status, taskId, contextId, principal, trace_id, span_id, ms } = line;
      assert.deepEqual(
        { level: LEVELS[Number(level)], binding, operation, status, taskId, contextId, principal, trace_id },
        {
          level: "debug",
          binding: caller.binding,
          operation: "SendMessage",
          status: "OK",
          taskId: task.id,
          contextId: task.contextId,
          principal: "anonymous",
          trace_id: traceId,
        },
      );
      assert.equal(typeof ms, "number");
      assert.ok(recorded.spansOf(traceId).some((span) => span.spanContext().spanId === span_id));
    }
  });

  test("tells at info of what was refused, and not of what was well or what strangers try", async () => {
    const { bed, lines } = await openLogged("info", { tokens: { good: "alice" } });
    await using _ = bed;
    const headers = { authorization: "Bearer good" };
    await bed.grpc.unary("SendMessage", send("complete"), { headers });
    await failureOf(bed.grpc.unary("GetTask", { id: "nothing" }));
    await failureOf(bed.grpc.unary("GetTask", { id: "nothing" }, { headers }));
    const [line] = await callLines(lines, 1);
    assert.equal(LEVELS[Number(line?.["level"])], "info");
    assert.equal(line?.["reason"], "TASK_NOT_FOUND");
    assert.equal(line?.["principal"], "alice");
  });

  test("tells of failures of the server's own as warnings, and of all calls or none where that is asked for", async () => {
    const throwing = await openLogged("warn");
    await using _ = throwing.bed;
    await failureOf(throwing.bed.rest.unary("SendMessage", send("reply-throw")));
    const [line] = await callLines(throwing.lines, 1);
    assert.equal(LEVELS[Number(line?.["level"])], "warn");
    assert.equal(line?.["reason"], "INTERNAL");
    const [all, none] = [await openLogged("info", { callLog: "all" }), await openLogged("debug", { callLog: "none" })];
    await using _all = all.bed;
    await using _none = none.bed;
    for (const { bed } of [all, none]) await bed.rest.unary("SendMessage", send("complete"));
    assert.equal(LEVELS[Number((await callLines(all.lines, 1))[0]?.["level"])], "info");
    await callLines(none.lines, 0);
  });

  test("has one line for a stream, when it has ended", async () => {
    const { bed, agent, lines } = await openLogged("debug");
    await using _ = bed;
    const gate = agent.gate();
    const stream = bed.rest.stream("SendStreamingMessage", send(`slow ${gate.name}`));
    await nextFrame(stream);
    await callLines(lines, 0);
    gate.open();
    await collect(stream);
    const [line] = await callLines(lines, 1);
    assert.equal(line?.["stream"], "send");
  });

  test("holds nothing of what callers send, and no credential", async () => {
    const { bed, lines } = await openLogged("debug", { tokens: { "s3cret-token": "alice" } });
    await using _ = bed;
    const headers = { authorization: "Bearer s3cret-token" };
    await bed.rest.unary("SendMessage", send("complete", { metadata: { password: "s3cret-word" } }), { headers });
    await failureOf(bed.rest.unary("SendMessage", send("reply-throw"), { headers }));
    await callLines(lines, 2);
    assert.doesNotMatch(JSON.stringify(lines), /s3cret/);
  });
});

suite("a line of the log", () => {
  test("that is written in the course of a turn says in which trace", async () => {
    const { bed, lines } = await openLogged("error");
    await using _ = bed;
    const { traceId, headers } = callersTrace();
    const { id } = taskOf(await bed.grpc.unary("SendMessage", send("throw"), { headers }));
    const line = lines.find(({ taskId }) => taskId === id);
    assert.equal(line?.["trace_id"], traceId);
  });

  test("that cannot be kept is lost, and nothing else is", { skip: !existsSync("/dev/full") && "no /dev/full here" }, () => {
    const full = openSync("/dev/full", "w");
    const script = `import { pinoLog } from "./src/server/telemetry/pino-log.ts";
      const log = pinoLog("info");
      for (let line = 0; line < 3; line += 1) log.info({ line }, "x".repeat(1_000_000));
      console.log("went on");`;
    const { status, stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", full],
    });
    closeSync(full);
    assert.deepEqual([status, stdout.toString()], [0, "went on\n"]);
  });

  test("has what gives access replaced, at any depth that facts have", () => {
    const lines: string[] = [];
    const log = pinoLog("info", { write: (line) => void lines.push(line) });
    const secrets = { authorization: "s3cret", token: "s3cret", password: "s3cret", headers: { cookie: "s3cret" } };
    log.info({ ...secrets, call: secrets, deep: { call: secrets } }, "said");
    assert.doesNotMatch(lines.join(""), /s3cret/);
  });
});
