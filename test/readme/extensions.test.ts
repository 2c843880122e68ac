/** docs/extensions.md: its commands, run in their order against the example that it names, and what it says of the card. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { QUICK, startServer } from "../e2e/server-process.ts";
import { blocksOf, document, shapeOf } from "./markdown.ts";
import { session } from "./session.ts";

const text = document("docs/extensions.md");
const blocks = blocksOf(text);

/** On a busy machine the agent may take longer than usual to say something: the transcript shows the usual. */
const STEADY = { THROUGHLINE_WORKING_AFTER_MS: "60000" };

suite("the page on extensions", { timeout: 120_000 }, () => {
  test("shows the declarations of the card, and what its commands print", async () => {
    assert.match(text, /serve\s+examples\/list-worker\/agent\.ts/);
    await using server = await startServer(["examples/list-worker/agent.ts"], { ...QUICK, ...STEADY });
    const directory = mkdtempSync(join(tmpdir(), "throughline-extensions-"));
    try {
      const card = await fetch(`http://127.0.0.1:${server.ports.http}/.well-known/agent-card.json`);
      const { capabilities } = (await card.json()) as { capabilities: { extensions: unknown } };
      const declared = blocks.find(({ language }) => language === "json");
      assert.deepEqual(capabilities.extensions, JSON.parse(declared?.text ?? ""));

      const shown = blocks.flatMap((command, index) => {
        const transcript = blocks[index + 1];
        return command.language === "sh" && transcript?.language === "text" ? [{ command, transcript }] : [];
      });
      assert.equal(shown.length, 3);
      const scripts = shown.map(({ command }) =>
        command.text
          .replaceAll("127.0.0.1:8080", `127.0.0.1:${server.ports.http}`)
          .replaceAll("127.0.0.1:50051", `127.0.0.1:${server.ports.grpc}`)
          .replaceAll("dropped.log", join(directory, "dropped.log")),
      );
      const printed = await session(scripts);
      for (const [index, { transcript }] of shown.entries()) assert.match(printed[index] ?? "", shapeOf(transcript.text));
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
