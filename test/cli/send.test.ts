/** `throughline send` and `follow`: what they print, and how they end. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { ScenarioAgent } from "../bindings/scenario-agent.ts";
import { cliBed, jsonLines, taskIdOf } from "./cli-bed.ts";
import { COMMAND, type Ran } from "../e2e/server-process.ts";

type Json = Record<string, any>;

suite("send", { concurrency: 2, timeout: 240_000 }, () => {
  const defaultInputModes = ["text/plain", "text/markdown", "image/png", "application/octet-stream"];
  const bed = cliBed({}, new ScenarioAgent({ card: { defaultInputModes } }));
  const folder = mkdtempSync(join(tmpdir(), "throughline-cli-"));
  after(() => rmSync(folder, { recursive: true }));

  test("prints the artifact to stdout and nothing else, and says on stderr what happens", async () => {
    const { code, stdout, stderr } = await bed.run(["send", "complete"]);
    assert.deepEqual([code, stdout], [0, "forty-two"]);
    assert.match(stderr, /^task [0-9a-f-]{36}\nsubmitted\nworking\nartifact answer\ncompleted: done\n$/);
  });

  test("prints an artifact as it grows", async () => {
    const gate = bed().agent.gate();
    await using process = bed.start(["send", `chunks ${gate.name}`]);
    for (const grown of ["one ", "one two "]) {
      await process.until(({ stdout }) => stdout === grown);
      gate.open();
    }
    gate.open();
    assert.deepEqual(await process.exited, { code: 0, signal: null });
    assert.equal(process.stdout, "one two three");
    assert.match(process.stderr, /\nartifact log\.txt\nworking: nearly there\ncompleted: done\n$/);
  });

  test("prints a direct message, and ends with 0", async () => {
    assert.deepEqual(await bed.run(["send", "reply you"]), { code: 0, stdout: "re: you\n", stderr: "" });
  });

  for (const [text, said] of [
    ["fail", "failed: it broke"],
    ["reject", "rejected: not for me"],
  ] as const) {
    test(`ends with 1 where the task is to ${text}, and says so`, async () => {
      const { code, stderr } = await bed.run(["send", text]);
      assert.equal(code, 1);
      assert.ok(stderr.endsWith(`\n${said}\n`), stderr);
    });
  }

  test("ends with 3 at a question, with the command that answers; which goes on with the task", async () => {
    const asked = await bed.run(["send", "input", "--binding", "rest"]);
    const id = taskIdOf(asked);
    assert.equal(asked.code, 3);
    assert.ok(asked.stderr.endsWith(`\ninput required: which one?\nanswer: ${COMMAND} send --task ${id} ANSWER --binding rest\n`));
    const answered = await bed.run(["send", "--task", id, "complete"]);
    assert.deepEqual([answered.code, answered.stdout, taskIdOf(answered)], [0, "forty-two", id]);
    const auth = await bed.run(["send", "auth"]);
    assert.equal(auth.code, 3);
    assert.match(auth.stderr, /\nauth required: log in at https:\/\/login\.example\/\nanswer: /);
  });

  test("ends with 5 where the agent refuses, in one line that has the reason and what to try", async () => {
    const { code, stdout, stderr } = await bed.run(["send", "--task", "nope", "hello"]);
    assert.deepEqual([code, stdout], [5, ""]);
    assert.match(stderr, new RegExp(`^throughline: TASK_NOT_FOUND: [^\n]*; \`${COMMAND} list\` shows your tasks\n$`));
  });

  test("gives machines a line per event and a last one with the task, whatever the binding", async () => {
    for (const binding of ["grpc", "rest", "json-rpc", "connect"]) {
      const { code, stdout, stderr } = await bed.run(["send", "--json", "--binding", binding, "complete"]);
      assert.deepEqual([code, stderr], [0, ""]);
      const lines = jsonLines(stdout) as Json[];
      assert.deepEqual(
        lines.map((line) => Object.keys(line["event"] ?? line)[0]),
        ["task", "statusUpdate", "artifactUpdate", "statusUpdate", "task"],
      );
      assert.equal(lines.at(-1)?.["task"].status.state, "TASK_STATE_COMPLETED");
      assert.deepEqual(lines.at(-1)?.["task"].artifacts, [{ artifactId: "a", name: "answer", parts: [{ text: "forty-two" }] }]);
    }
    const [event, message] = jsonLines((await bed.run(["send", "--json", "reply you"])).stdout) as Json[];
    assert.deepEqual(event?.["event"].message, message?.["message"]);
    const [failure] = jsonLines((await bed.run(["send", "--json", "--task", "nope", "hello"])).stdout) as Json[];
    assert.equal(failure?.["error"].reason, "TASK_NOT_FOUND");
  });

  test("waits in the way that it is told", async () => {
    for (const wait of ["stream", "poll", "block"]) {
      const { code, stdout } = await bed.run(["send", "complete", "--wait", wait, "--poll-interval", "0.05"]);
      assert.deepEqual([code, stdout], [0, "forty-two"], wait);
    }
  });

  test("detached prints the ids and leaves; follow comes back", async () => {
    const gate = bed().agent.gate();
    const { code, stdout, stderr } = await bed.run(["send", "--detach", "--context", "reports", `slow ${gate.name}`]);
    assert.equal(code, 0);
    const [, id = ""] = /^task {5}([0-9a-f-]{36})\ncontext {2}reports\nstate {4}(submitted|working)\n$/.exec(stdout) ?? [];
    assert.equal(stderr, `come back: ${COMMAND} follow ${id}\n`);
    gate.open();
    const followed = await bed.run(["follow", id]);
    assert.equal(followed.code, 0);
    assert.ok(followed.stderr.endsWith("\ncompleted: done\n"));
    const [line] = jsonLines((await bed.run(["send", "--detach", "--json", "complete"])).stdout) as Json[];
    assert.match(line?.["task"].id, /^[0-9a-f-]{36}$/);
  });

  test("the same message twice is one task", async () => {
    const [first, second] = [
      await bed.run(["send", "--message-id", "m-1", "complete"]),
      await bed.run(["send", "--message-id", "m-1", "complete"]),
    ];
    assert.equal(taskIdOf(first), taskIdOf(second));
    assert.equal(second.stdout, "forty-two");
  });

  const sent = async (ran: Promise<Ran>): Promise<Json[]> => {
    const { stdout, stderr } = await ran;
    const [line] = jsonLines(stdout) as Json[];
    assert.ok(line !== undefined, stderr);
    const got = JSON.parse((await bed.run(["get", "--json", "--history", "9", line["task"].id])).stdout) as Json;
    return got["history"].find(({ role }: Json) => role === "ROLE_USER").parts as Json[];
  };

  test("reads standard input, as text where it is text", async () => {
    for (const args of [["send", "-"], ["send"]]) {
      const { code, stdout } = await bed.run(args, { input: "complete" });
      assert.deepEqual([code, stdout], [0, "forty-two"]);
    }
    assert.deepEqual(await sent(bed.run(["send", "--detach", "--json", "-"], { input: "à la\n" })), [{ text: "à la\n" }]);
    const bytes = Uint8Array.of(0, 255);
    const [part] = await sent(bed.run(["send", "--detach", "--json", "-"], { input: bytes }));
    assert.deepEqual(part, { raw: "AP8=", mediaType: "application/octet-stream" });
    const nothing = await bed.run(["send"]);
    assert.deepEqual(nothing, { code: 2, stdout: "", stderr: "throughline: nothing to send: standard input is empty\n" });
  });

  test("sends words as one text, then files with their names and types", async () => {
    const [text, image, plain] = ["notes.md", "dot.png", "unnamed"].map((name) => join(folder, name)) as [string, string, string];
    writeFileSync(text, "# notes\n");
    writeFileSync(image, Uint8Array.of(0x89, 0x50, 0));
    writeFileSync(plain, "plain");
    const files = [text, image, plain].flatMap((path) => ["--file", path]);
    assert.deepEqual(await sent(bed.run(["send", "--detach", "--json", ...files, "what", "is", "this"])), [
      { text: "what is this" },
      { text: "# notes\n", filename: "notes.md", mediaType: "text/markdown" },
      { raw: "iVAA", filename: "dot.png", mediaType: "image/png" },
      { text: "plain", filename: "unnamed", mediaType: "text/plain" },
    ]);
    const missing = await bed.run(["send", "--file", join(folder, "missing")]);
    assert.equal(missing.code, 2);
    assert.match(missing.stderr, /^throughline: --file: cannot read .*missing: ENOENT\n$/);
  });
});

suite("follow", { timeout: 120_000 }, () => {
  const bed = cliBed({}, new ScenarioAgent());

  test("prints a task that has ended, in full", async () => {
    const id = taskIdOf(await bed.run(["send", "complete"]));
    const followed = await bed.run(["follow", id]);
    assert.deepEqual([followed.code, followed.stdout], [0, "forty-two"]);
    assert.match(followed.stderr, /^task .*\nartifact answer\ncompleted: done\n$/);
  });

  test("of a task that is not there ends with 5", async () => {
    const { code, stderr } = await bed.run(["follow", "nope"]);
    assert.equal(code, 5);
    assert.match(stderr, /^throughline: TASK_NOT_FOUND: .*\n$/);
  });
});
