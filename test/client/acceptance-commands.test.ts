/** Checks by commands that read the artifact. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { suite, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { ArtifactSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { ArtifactContent } from "../../src/client/acceptance/artifact-content.ts";
import { runChecks } from "../../src/client/acceptance/check.ts";
import { type CheckResult, commandCheck, type CommandCheckOptions } from "../../src/client/index.ts";

/** What comes of a command that reads these bytes. */
async function check(
  command: string,
  input: string | Uint8Array = "",
  options: CommandCheckOptions & { signal?: AbortSignal } = {},
): Promise<CheckResult> {
  const content = new ArtifactContent(create(ArtifactSchema), Buffer.from(input), [], []);
  const signal = options.signal ?? new AbortController().signal;
  const [result] = await runChecks([commandCheck(command, options)], content, { by: "ada", signal });
  return result ?? assert.fail("there is no result");
}

/** Whether a process has ended; one that nobody collects has, too. */
function hasEnded(pid: number): boolean {
  const path = `/proc/${pid}/stat`;
  return !existsSync(path) || readFileSync(path, "latin1").split(") ")[1]?.startsWith("Z") === true;
}

suite("a check by a command", { timeout: 120_000 }, () => {
  test("passes with exit code 0 and with no other; it reads the bytes as they are, and what it writes is kept", async () => {
    const { at: _, ...passed } = await check("cat; echo and more >&2", "text\n", { criterion: "fine" });
    assert.deepEqual(passed, { criterion: "fine", passed: true, by: "cat; echo and more >&2", output: "text\nand more\n" });
    const failed = await check("grep -c x; exit 3", "y");
    assert.deepEqual([failed.criterion, failed.passed, failed.output], ["grep -c x; exit 3", false, "0\n"]);
    const bytes = Uint8Array.from({ length: 256 }, (_unused, at) => at);
    assert.equal((await check("od -An -tu1 -v | tr -s ' \\n' ' '", bytes)).output.trim(), bytes.join(" "));
  });

  test("fails where there is no such command, and where it is ended by a signal", async () => {
    const missing = await check("no-such-command");
    assert.deepEqual([missing.passed, /not found/.test(missing.output)], [false, true]);
    const killed = await check("kill -TERM $$");
    assert.deepEqual([killed.passed, killed.output], [false, "ended by SIGTERM"]);
  });

  test("need not read all of a large artifact", async () => {
    assert.equal((await check("head -c 1 > /dev/null", "x".repeat(8_000_000))).passed, true);
    assert.equal((await check("wc -c", "x".repeat(8_000_000))).output.trim(), "8000000");
  });

  test("keeps the end of what it writes, however much that is", async () => {
    const { output, passed } = await check("seq 1000000; echo the end");
    assert.equal(passed, true);
    assert.ok(output.startsWith("…") && output.endsWith("1000000\nthe end\n") && output.length <= 4097);
  });

  test("is ended with its children when it takes too long, and has not passed", async () => {
    let pid: string | undefined;
    // On a busy machine the shell may not have begun by then.
    for (let timeoutMs = 250; pid === undefined; timeoutMs *= 2) {
      const { passed, output } = await check("sleep 600 & echo $!; wait", "", { timeoutMs });
      assert.equal(passed, false);
      [, pid] = /^(?:(\d+)\n+)?ended by SIGKILL: it took too long$/.exec(output.trim()) ?? assert.fail(output);
    }
    while (!hasEnded(Number(pid))) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  test("leaves nothing behind that holds it open", async () => {
    const { passed, output } = await check("sleep 600 & echo $!");
    assert.equal(passed, true);
    while (!hasEnded(Number(output))) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  test("is ended with the signal, whose reason it is", async () => {
    const leave = new AbortController();
    const running = check("sleep 600", "", { signal: leave.signal });
    leave.abort(new Error("enough"));
    await assert.rejects(running, /^Error: enough$/);
  });
});
