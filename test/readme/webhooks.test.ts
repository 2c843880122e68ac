/** The commands of docs/webhooks.md, run in their order by a shell. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { COMMAND, QUICK, ROOT } from "../e2e/server-process.ts";
import { removeFolder, temporaryFolder } from "../redis/child-guard.ts";
import { freePort } from "../redis/free-port.ts";
import { blocksOf, document, sectionOf } from "./markdown.ts";
import { session } from "./session.ts";

const folder = temporaryFolder("docs-webhooks");
after(() => removeFolder(folder));

const AGENT = `
export default {
  card: { name: "echo", description: "Says it again", version: "1", defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"], skills: [] },
  async *run({ message }) {
    yield { case: "artifactUpdate", value: { artifact: { artifactId: "a", parts: message.parts }, lastChunk: true } };
  },
};
`;

test("a webhook arrives by the five commands of docs/webhooks.md", { timeout: 120_000 }, async () => {
  const [http, receiver] = [await freePort(), await freePort()];
  writeFileSync(join(folder, "agent.ts"), AGENT);
  const [block] = blocksOf(sectionOf(document("docs/webhooks.md"), "tried"));
  const command = COMMAND.replace("src/", `${ROOT}src/`);
  const script = (block?.text ?? "").replaceAll("npx throughline", command).replaceAll("9000", String(receiver));
  const lines = script.trimEnd().split("\n");
  assert.equal(lines.length, 5);
  const [listen = "", serve = "", ...calls] = lines;
  const variables = Object.entries({
    ...QUICK,
    THROUGHLINE_HTTP_PORT: String(http),
    THROUGHLINE_AGENT: `http://127.0.0.1:${http}`,
  }).map(([name, value]) => `export ${name}=${value}`);
  const waiting = (file: string, text: string): string =>
    `n=0; until grep -q '${text}' ${file}; do n=$((n + 1)); [ $n -lt 600 ] && kill -0 $! || exit 1; sleep 0.1; done`;
  const [said = ""] = await session([
    [
      `cd '${folder}'`,
      ...variables,
      listen.replace(/&$/, "> received &"),
      "receiver=$!",
      serve.replace(/&$/, "> served 2>&1 &"),
      "server=$!",
      "trap 'kill $server $receiver; wait' EXIT",
      waiting("served", "Try it"),
      ...calls,
      waiting("received", "TASK_STATE_COMPLETED"),
    ].join("\n"),
  ]);
  assert.match(said, /^ID .*URL\n\S+ +http:\/\/127\.0\.0\.1:\d+\/\n\n(active|done): acknowledged up to \d+\n$/);
  assert.match(readFileSync(join(folder, "received"), "utf8"), /^\{"task":.*"text":"hello"/);
});
