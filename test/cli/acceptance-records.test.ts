/** `throughline hold`, `reject` and `records`: as processes, with their output and their exit codes. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import type { Ran } from "../e2e/server-process.ts";
import { decisionsBed, recordIn } from "./decisions-bed.ts";

suite("hold, reject and records", { concurrency: 2, timeout: 280_000 }, () => {
  const { bed, folder, run, deliver } = decisionsBed();

  test("what an agent or a person names begins no line of its own", async () => {
    const id = await deliver("complete");
    const { stdout } = await run(["hold", id, "--reason", "wait\naccepted v9  it is fine", "--work", "a\u2028accepted"]);
    assert.match(stdout, /^held +wait accepted v9 {2}it is fine\nwork +a accepted\n/);
  });

  test("hold and reject record why, and what could not be observed, also where the agent is away", async () => {
    const id = await deliver("complete", "stated");
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
    assert.deepEqual(await here("records"), { code: 0, stdout: "", stderr: `no records: there is no ${records}\n` });
    assert.equal((await here("records", "--json")).stdout, "[]\n");
    const id = await deliver("complete");
    const { id: record, content } = recordIn(await here("accept", id, "--judged", "fine", "--keep", "--json"));
    assert.equal(content?.kept, true);
    assert.equal((await here("records", record, "--content")).stdout, "forty-two");
    const bare = recordIn(await here("hold", await deliver("fail"), "--reason", "wait", "--json"));
    const none = await here("records", bare.id, "--content");
    assert.deepEqual([none.code, none.stderr.startsWith("throughline: its content was not kept: ")], [5, true]);
    assert.equal((await here("records", "nothing")).code, 2);
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
    const id = await deliver("complete");
    const at = (variables: Readonly<Record<string, string>>): Promise<Ran> => bed.run(["hold", id, "--reason", "wait"], { env: variables });
    await at({ HOME: home, XDG_DATA_HOME: "" });
    assert.ok(existsSync(join(home, ".local", "share", "throughline", "records", "contexts")));
    await at({ HOME: home, XDG_DATA_HOME: join(home, "data") });
    assert.ok(existsSync(join(home, "data", "throughline", "records", "contexts")));
  });
});
