/** accept, hold, reject, records: as processes, with their output and their exit codes. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import type { AcceptanceRecord } from "../../src/client/index.ts";
import type { Ran } from "../e2e/server-process.ts";
import { removeFolder, temporaryFolder } from "../redis/child-guard.ts";
import { cliBed, taskIdOf } from "./cli-bed.ts";

const DIGEST = `sha256:${createHash("sha256").update("forty-two").digest("hex")}`;

suite("decisions on the command line", { concurrency: 2, timeout: 240_000 }, () => {
  const bed = cliBed();
  const folder = temporaryFolder("records");
  after(() => removeFolder(folder));
  const env = { THROUGHLINE_RECORDS: join(folder, "records") };
  const run = (args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Ran> =>
    bed.run(args, { env: { ...env, ...more } });
  const send = async (...words: string[]): Promise<string> => taskIdOf(await run(["send", ...words]));
  const parse = ({ stdout }: Ran): AcceptanceRecord => JSON.parse(stdout) as AcceptanceRecord;

  test("accept judges by commands that read the artifact, and by what its user has judged", async () => {
    const id = await send("--context", "accepted", "complete");
    const words = [
      "--criterion",
      "it is a number",
      "--check",
      "grep -qx forty-two",
      "--check",
      "wc -c",
      "--judged",
      "it is the answer",
      "--by",
      "ada",
    ];
    const { code, stdout, stderr } = await run(["accept", id, ...words]);
    assert.deepEqual([code, stderr], [0, ""]);
    const [, record = ""] = /^record +(\S+)$/m.exec(stdout) ?? [];
    const time = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`;
    const lines = [
      `accepted v1  it is complete, and every criterion is met`,
      `work         answer`,
      `artifact     a`,
      `task         ${id}`,
      `context      accepted`,
      `content      ${DIGEST}, 9 bytes`,
      String.raw`passed       it is a number \(grep -qx forty-two\)`,
      String.raw`passed       it is a number \(wc -c\)`,
      String.raw`passed       it is the answer \(ada\)`,
      `observed     get-task: TASK_STATE_COMPLETED, ${time}`,
      `agent        scenarios, GRPC 1.0 127.0.0.1:${bed().server.ports.grpc}`,
      `by           ada, ${time}`,
      `record       ${record}`,
    ];
    assert.match(stdout, new RegExp(`^${lines.join("\n")}\n$`));
    const again = parse(await run(["accept", id, "--judged", "anything", "--json"]));
    assert.equal(again.id, record);
    assert.deepEqual(JSON.parse((await run(["records", record.slice(0, 13), "--json"])).stdout), again);
    assert.equal((await run(["records", record])).stdout, stdout);
  });

  test("accept ends with 1 where it is held, with 4 or 3 while the task is not over, and with 1 where it failed", async () => {
    const id = await send("complete");
    const held = await run(["accept", id, "--criterion", "it has a conclusion", "--check", "grep Conclusion || { echo none; exit 1; }"]);
    assert.equal(held.code, 1);
    assert.match(held.stdout, /^held +not met: it has a conclusion\n/);
    assert.match(held.stdout, /\nfailed +it has a conclusion \(grep Conclusion [^)]*\): none\n/);
    const open = await run(["accept", id, "--criterion", "it is true", "--judged", "it is short"]);
    assert.match(open.stdout, /^held +not checked: it is true\n/);
    assert.match(open.stdout, /\nunchecked +it is true\n/);
    const failed = await run(["accept", await send("fail"), "--judged", "fine"]);
    assert.deepEqual([failed.code, /^rejected +the task ended FAILED: that is no delivery\n/.test(failed.stdout)], [1, true]);
    const asked = await run(["accept", await send("input"), "--judged", "fine"]);
    assert.deepEqual([asked.code, /^provisional +the task is INPUT REQUIRED: /.test(asked.stdout)], [3, true]);
    const gate = bed().agent.gate();
    const [, running = ""] = /^task +(\S+)$/m.exec((await run(["send", "--detach", `slow ${gate.name}`])).stdout) ?? [];
    const early = await run(["accept", running, "--judged", "fine"]);
    assert.deepEqual([early.code, /^provisional +the task is /.test(early.stdout)], [4, true]);
    gate.open();
  });

  test("send --refine begins a task that replaces the accepted one when it is accepted", async () => {
    const first = await send("--context", "refined", "complete");
    const v1 = parse(await run(["accept", first, "--judged", "fine", "--json"]));
    const second = await send("--refine", first, "complete");
    const v2 = parse(await run(["accept", second, "--judged", "fine", "--json"]));
    assert.deepEqual([v2.contextId, v2.referenceTaskIds, v2.predecessor, v2.version], ["refined", [first], v1.id, 2]);
    const other = await send("--context", "refined", "complete");
    const held = await run(["accept", other, "--judged", "fine"]);
    assert.match(held.stdout, new RegExp(`^held +answer v2 of task ${second} stands, which this task does not refine\n`));
    const v3 = parse(await run(["accept", other, "--judged", "fine", "--replaces", second, "--json"]));
    assert.deepEqual([v3.version, v3.predecessor], [3, v2.id]);
    const current = await run(["records", "--context", "refined", "--current", "--json"]);
    assert.deepEqual(JSON.parse(current.stdout), [v3]);
    const list = (await run(["records", "--context", "refined"])).stdout.split("\n");
    assert.match(list[0] ?? "", /^AT +DECISION +WORK +TASK +RECORD +REASON$/);
    assert.deepEqual(
      list.slice(1, 5).map((line) => line.split(/ {2,}/)[1]),
      ["accepted v1", "accepted v2", "held", "accepted v3"],
    );
    const wrong = await run(["send", "--refine", first, "--task", second, "x"]);
    assert.deepEqual([wrong.code, /--refine begins a task/.test(wrong.stderr)], [2, true]);
    const elsewhere = await run(["send", "--refine", first, "--context", "other", "x"]);
    assert.deepEqual([elsewhere.code, /--context: .* refined\n$/.test(elsewhere.stderr)], [2, true]);
  });

  test("what an agent or a person names begins no line of its own", async () => {
    const id = await send("complete");
    const { stdout } = await run(["hold", id, "--reason", "wait\naccepted v9  it is fine", "--work", "a\u2028accepted"]);
    assert.match(stdout, /^held +wait accepted v9 {2}it is fine\nwork +a accepted\n/);
  });

  test("hold and reject record why, and what could not be observed, also where the agent is away", async () => {
    const id = await send("--context", "stated", "complete");
    const held = await run(["hold", id, "--reason", "figures missing", "--gap", "figures of May", "--owner", "grace"]);
    assert.equal(held.code, 0);
    assert.match(held.stdout, /^held +figures missing\n/);
    assert.match(held.stdout, /\ngap +figures of May \(grace\)\n/);
    assert.match((await run(["reject", id, "--reason", "invented"])).stdout, /^rejected +invented\n/);
    const stays = await run(["accept", id, "--judged", "fine"]);
    assert.deepEqual([stays.code, /^rejected +invented\n/.test(stays.stdout)], [1, true]);
    const nobody = { THROUGHLINE_AGENT: "http://127.0.0.1:1" };
    const away = await run(["hold", id, "--reason", "to be looked at", "--by", "ada"], nobody);
    assert.equal(away.code, 0);
    assert.match(away.stdout, /\ncontext +stated\n/);
    assert.match(away.stdout, /\ngap +.*127\.0\.0\.1:1.* \(ada\)\n/);
    const count = JSON.parse((await run(["records", "--task", id, "--json"])).stdout).length as number;
    const failed = await run(["accept", id, "--judged", "fine"], nobody);
    assert.deepEqual([failed.code, failed.stdout], [5, ""]);
    assert.equal(JSON.parse((await run(["records", "--task", id, "--json"])).stdout).length, count);
    const unknown = await run(["accept", "no-such-task", "--judged", "fine", "--context", "stated"]);
    assert.equal(unknown.code, 1);
    assert.match(unknown.stdout, /^held +it was not observed: TASK_NOT_FOUND: no such task\n/);
  });

  test("records of a directory: kept content, nothing there, no such record, a file that is none", async () => {
    const records = join(folder, "others");
    const here = (...args: string[]): Promise<Ran> => run([...args, "--records", records]);
    assert.deepEqual(await here("records"), { code: 0, stdout: "", stderr: "no records\n" });
    assert.equal((await here("records", "--json")).stdout, "[]\n");
    const id = await send("complete");
    const { id: record, content } = parse(await here("accept", id, "--judged", "fine", "--keep", "--json"));
    assert.equal(content?.kept, true);
    assert.equal((await here("records", record, "--content")).stdout, "forty-two");
    const bare = parse(await here("hold", await send("fail"), "--reason", "wait", "--json"));
    const none = await here("records", bare.id, "--content");
    assert.deepEqual([none.code, none.stderr.startsWith("throughline: its content was not kept: ")], [5, true]);
    assert.equal((await here("records", "nothing")).code, 5);
    assert.equal((await here("records", "--content")).code, 2);
    const path = join(records, "contexts", bare.contextId, "000001.json");
    assert.deepEqual(JSON.parse(readFileSync(path, "utf8")), bare);
    writeFileSync(path, "{}");
    const broken = await here("records");
    assert.deepEqual(
      [broken.code, broken.stderr],
      [5, `throughline: ${path}: format: it must be 1: another version of this program may have written it\n`],
    );
  });

  test("records are in the user's place for data where nobody says otherwise", async () => {
    const home = join(folder, "home");
    const id = await send("complete");
    const at = (variables: Readonly<Record<string, string>>): Promise<Ran> => bed.run(["hold", id, "--reason", "wait"], { env: variables });
    await at({ HOME: home, XDG_DATA_HOME: "" });
    assert.ok(existsSync(join(home, ".local", "share", "throughline", "records", "contexts")));
    await at({ HOME: home, XDG_DATA_HOME: join(home, "data") });
    assert.ok(existsSync(join(home, "data", "throughline", "records", "contexts")));
  });

  test("what is wrong with the command line is told in a line and with 2", async () => {
    const wrong: readonly (readonly [args: string[], expected: RegExp])[] = [
      [["accept"], /missing required argument 'task'/],
      [["accept", "x"], /^throughline: --check or --judged: at least one is needed: what nobody has judged is not accepted\n$/],
      [["accept", "x", "--check", " "], /argument ' ' is invalid\. It must say something\./],
      [["accept", "x", "--judged", "fine", "--check-timeout", "0"], /It must be a number above 0\./],
      [["accept", "x", "--judged", "fine", "--by", " "], /^throughline: --by: it must say who decides\n$/],
      [["hold", "x"], /required option '--reason <text>' not specified/],
      [["reject", "x", "--reason", ""], /^throughline: --reason: it must say why\n$/],
    ];
    for (const [args, expected] of wrong) {
      const { code, stderr } = await run(args);
      assert.equal(code, 2, stderr);
      assert.match(stderr, expected);
    }
  });

  test("Ctrl-C ends the checks, and nothing is recorded", async () => {
    const id = await send("complete");
    const records = join(folder, "left");
    const began = join(folder, "began");
    await using other = bed.start(["accept", id, "--check", `echo > ${began}; sleep 600`, "--records", records], { env });
    while (!existsSync(began)) await new Promise((resolve) => setTimeout(resolve, 10));
    other.signal("SIGINT");
    assert.deepEqual(await other.exited, { code: 4, signal: null });
    assert.equal(other.stderr, "left: nothing was recorded\n");
    assert.equal((await run(["records", "--records", records])).stderr, "no records\n");
  });
});
