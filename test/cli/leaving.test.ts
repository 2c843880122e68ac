/** A task that is not waited for to its end: left, canceled, timed out, cut off. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { ClientBinding } from "../../src/client/client-options.ts";
import { onInterrupts } from "../../src/cli/interrupts.ts";
import { eventStream, RawServer } from "../bindings/transport/raw-server.ts";
import { type CliProcess, COMMAND } from "../e2e/server-process.ts";
import { cliBed, jsonLines, taskIdOf } from "./cli-bed.ts";

/** A second Ctrl-C is in time, however busy the machine is. */
const PATIENT = { THROUGHLINE_CTRL_C_MS: "60000" };

test("a Ctrl-C that comes while the command ends does not end it by the signal", (t) => {
  const before = new Set(process.listeners("SIGINT"));
  t.after(() => process.listeners("SIGINT").forEach((one) => before.has(one) || process.off("SIGINT", one)));
  const asked: string[] = [];
  const ask = (what: string) => (): void => void asked.push(what);
  const interrupts = onInterrupts({ hint: ask("hint"), cancel: ask("cancel"), leave: ask("leave") });
  for (let press = 0; press < 3; press += 1) process.emit("SIGINT");
  interrupts[Symbol.dispose]();
  assert.equal(process.exitCode, undefined);
  // Without a listener the process would be gone, whatever it had still to tell.
  assert.equal(process.emit("SIGINT"), true);
  assert.deepEqual(asked, ["hint", "cancel", "leave"]);
});

suite("a task that is waited for", { concurrency: 2, timeout: 240_000 }, () => {
  const bed = cliBed();

  /** A `send` whose task works until its gate opens. */
  const working = async (
    flags: readonly string[] = [],
    env: Record<string, string> = {},
  ): Promise<{ process: CliProcess; open: () => void }> => {
    const gate = bed().agent.gate();
    const process = bed.start(["send", ...flags, `slow ${gate.name}`], { env });
    await process.until(({ stdout, stderr }) => `${stdout}${stderr}`.includes("on it"));
    return { process, open: () => gate.open() };
  };

  test("is left after one Ctrl-C, with the command to come back, and goes on", async () => {
    const { process, open } = await working(["--binding", "grpc", "--token", "s3cret", "--header", "X-Key: s3cret"]);
    process.signal("SIGINT");
    await process.until(({ stderr }) => stderr.includes("leaving in 2 s, the task goes on; Ctrl-C again cancels it\n"));
    assert.deepEqual(await process.exited, { code: 4, signal: null });
    const id = taskIdOf(process);
    const back = `come back: ${COMMAND} follow ${id} --binding grpc --header 'x-key: <value>' --token '<token>'\n`;
    assert.ok(process.stderr.endsWith(back), process.stderr);
    open();
    assert.equal((await bed.run(["follow", id])).code, 0);
  });

  test("is canceled by a second Ctrl-C", async () => {
    const { process } = await working([], PATIENT);
    process.signal("SIGINT");
    await process.until(({ stderr }) => stderr.includes("Ctrl-C again cancels it"));
    process.signal("SIGINT");
    assert.deepEqual(await process.exited, { code: 1, signal: null });
    assert.ok(process.stderr.endsWith("canceling; Ctrl-C again leaves at once\ncanceled: stopped\n"), process.stderr);
  });

  test("is left at once by a third Ctrl-C", async () => {
    const gate = bed().agent.gate();
    const process = bed.start(["send", `deaf ${gate.name}`], { env: PATIENT });
    for (const said of ["on it", "Ctrl-C again cancels it", "Ctrl-C again leaves at once"]) {
      await process.until(({ stderr }) => stderr.includes(said));
      process.signal("SIGINT");
    }
    assert.deepEqual(await process.exited, { code: 4, signal: null });
    gate.open();
  });

  test("that ends after one Ctrl-C ends the command as ever", async () => {
    const { process, open } = await working([], PATIENT);
    process.signal("SIGINT");
    await process.until(({ stderr }) => stderr.includes("Ctrl-C again cancels it"));
    open();
    assert.deepEqual(await process.exited, { code: 0, signal: null });
  });

  test("before it is known is left with the message's id", async () => {
    const gate = bed().agent.gate();
    const process = bed.start(["send", "--wait", "block", `slow ${gate.name}`]);
    await gate.reached;
    process.signal("SIGINT");
    assert.deepEqual(await process.exited, { code: 4, signal: null });
    const [, id = ""] = /--message-id ([0-9a-f-]{36})\n$/.exec(process.stderr) ?? [];
    gate.open();
    const again = await bed.run(["send", "--message-id", id, `slow ${gate.name}`]);
    assert.ok(again.code === 0 && again.stderr.endsWith("completed: done\n"), again.stderr);
  });

  test("before it is known cannot be canceled: the second Ctrl-C leaves it, and says so", async () => {
    const gate = bed().agent.gate();
    const process = bed.start(["send", "--wait", "block", `slow ${gate.name}`], { env: PATIENT });
    await gate.reached;
    process.signal("SIGINT");
    await process.until(({ stderr }) => stderr.includes("Ctrl-C again cancels it"));
    process.signal("SIGINT");
    assert.deepEqual(await process.exited, { code: 4, signal: null });
    assert.match(process.stderr, /cannot be canceled: leaving/);
    gate.open();
  });

  test("is left when its time is over; machines get it as it was", async () => {
    const { process, open } = await working(["--json", "--timeout", "8"]);
    assert.deepEqual(await process.exited, { code: 4, signal: null });
    const last = jsonLines(process.stdout).at(-1) as { task: { id: string; status: { state: string } } };
    assert.equal(last.task.status.state, "TASK_STATE_WORKING");
    assert.ok(process.stderr.endsWith(`the time that --timeout gives is over\ncome back: ${COMMAND} follow ${last.task.id}\n`));
    open();
  });

  test("is not to be come back to where its agent does not know it any more", async () => {
    const task = { id: "t-1", contextId: "c", status: { state: "TASK_STATE_WORKING" } };
    const details = [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" }];
    const server = await RawServer.open(({ target, headers: { host } }) => {
      const supportedInterfaces = [{ url: `http://${host}`, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" }];
      if (target.endsWith("agent-card.json"))
        return { body: JSON.stringify({ name: "an agent", version: "1", capabilities: { streaming: true }, supportedInterfaces }) };
      if (target === "/message:stream") return eventStream([`data: ${JSON.stringify({ task })}\n\n`]);
      return { status: 404, body: JSON.stringify({ error: { code: 404, status: "NOT_FOUND", message: "no such task", details } }) };
    });
    await using _ = server;
    const { code, stderr } = await bed.run(["send", "--agent", server.url, "hello"]);
    assert.equal(code, 4);
    assert.match(stderr, /the outcome is unknown: the work may have run \(no such task\)\n$/);
  });

  test("is left when nobody reads what is printed", async () => {
    const gate = bed().agent.gate();
    const process = bed.start(["send", `chunks ${gate.name}`]);
    await process.until(({ stdout }) => stdout === "one ");
    process.child.stdout?.destroy();
    gate.open(3);
    assert.deepEqual(await process.exited, { code: 4, signal: null });
    assert.match(process.stderr, new RegExp(`come back: ${COMMAND} follow `));
  });

  for (const [flag, binding] of [
    ["grpc", "GRPC"],
    ["rest", "HTTP+JSON"],
    ["json-rpc", "JSONRPC"],
    ["connect", "CONNECT"],
  ] satisfies [string, ClientBinding][]) {
    test(`is picked up where it stood after a cut, and only then a lost connection is told of, over ${flag}`, async () => {
      await using behind = await bed.behindProxy(binding);
      const gate = bed().agent.gate();
      const process = bed.start(["send", "--agent", behind.url, "--binding", flag, `chunks ${gate.name}`]);
      await process.until(({ stdout }) => stdout === "one ");
      assert.ok(!process.stderr.includes("lost"));
      behind.proxy.cut();
      await process.until(({ stderr }) => stderr.includes("connection lost, coming back\n"));
      gate.open(3);
      assert.deepEqual(await process.exited, { code: 0, signal: null });
      assert.equal(process.stdout, "one two three");
      assert.equal(process.stderr.split("connection lost").length, 2);
    });
  }
});
