/** The completion scripts, asked by the shells they are for. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { suite, test } from "node:test";
import { findZsh, WITHOUT_ZSH } from "./find-zsh.ts";
import { runCli } from "../e2e/server-process.ts";

/** What a shell offers for the last of these words. */
const ASKED: Readonly<Record<string, string>> = {
  bash: `eval "$script"
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _throughline
    printf '%s\\n' "\${COMPREPLY[@]}"`,
  zsh: `compdef() { }
    _files() { }
    compadd() { print -l -- "\${@:2}" }
    eval "$script"
    words=("$@") CURRENT=$#
    _throughline`,
};

suite("completion", { timeout: 120_000 }, () => {
  for (const [shell, path] of [
    ["bash", "bash"],
    ["zsh", findZsh()],
  ] as const) {
    const skip = path === undefined && WITHOUT_ZSH;
    test(`in ${shell} offers commands, flags and values, and files where there is nothing else`, { skip }, async () => {
      const { code, stdout: script } = await runCli(["completion", shell]);
      assert.equal(code, 0);
      const offered = (...words: string[]): string[] => {
        const asked = spawnSync(path ?? "", ["-c", ASKED[shell] ?? "", shell, "throughline", ...words], {
          env: { ...process.env, script },
          encoding: "utf8",
        });
        assert.equal(asked.stderr, "");
        return asked.stdout.split("\n").filter((word) => word !== "" && word.startsWith(words.at(-1) ?? ""));
      };
      assert.deepEqual(offered("c"), ["card", "cancel", "completion"]);
      assert.deepEqual(offered("send", "--w"), ["--wait"]);
      assert.deepEqual(offered("send", "--wait", ""), ["auto", "stream", "poll", "block"]);
      assert.deepEqual(offered("list", "--state", "c"), ["completed", "canceled"]);
      assert.deepEqual(offered("push", ""), ["create", "get", "list", "delete"]);
      assert.deepEqual(offered("accept", "a-task", "--check"), ["--check", "--check-timeout"]);
      assert.deepEqual(offered("records", "--c"), ["--context", "--current", "--content"]);
      assert.deepEqual(offered("push", "create", "a-task", "--push"), ["--push-token"]);
      assert.deepEqual(offered("send", "--binding", "grpc", "--fi"), ["--file"]);
      assert.deepEqual(offered("completion", "z"), ["zsh"]);
      assert.ok(offered("serve", "--redis").includes("--redis-url"));
      assert.deepEqual(offered("serve", "--dedupe-mode", ""), ["window", "running", "off"]);
      assert.deepEqual(offered("send", "--file", "pack"), []);
      assert.deepEqual(offered("send", "card"), []);
    });
  }
});
