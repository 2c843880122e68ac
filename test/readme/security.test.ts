/** The commands of docs/security.md, run in their order by a shell in a folder of its own. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { COMMAND, QUICK, ROOT } from "../e2e/server-process.ts";
import { resolveOptions } from "../../src/server/options.ts";
import { removeFolder, temporaryFolder } from "../redis/child-guard.ts";
import { blocksOf, document, sectionOf, shapeOf } from "./markdown.ts";
import { session } from "./session.ts";

const security = document("docs/security.md");
const folder = temporaryFolder("docs-security");
after(() => removeFolder(folder));

const AGENT = `
export default {
  card: { name: "echo", description: "Says it again", version: "1", defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"], skills: [] },
  async *run({ message }) {
    yield { case: "artifactUpdate", value: { artifact: { artifactId: "a", parts: message.parts }, lastChunk: true } };
  },
};
`;

/** A port of the HTTP server that nobody else has. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

test("one server with everything is set up and called as docs/security.md shows it", { timeout: 120_000 }, async () => {
  const port = await freePort();
  writeFileSync(join(folder, "agent.ts"), AGENT);
  const blocks = blocksOf(sectionOf(security, "tried"));
  const [setUp = "", refused = "", admitted = ""] = blocks.filter(({ language }) => language === "sh").map(({ text }) => text);
  const command = COMMAND.replace("src/", `${ROOT}src/`);
  const here = (script: string): string => script.replaceAll("npx throughline", command).replaceAll("8080", String(port));
  const variables = Object.entries({ ...QUICK, THROUGHLINE_HTTP_PORT: String(port) }).map(([name, value]) => `export ${name}=${value}`);
  const [, answer = "", served = ""] = await session([
    [`cd '${folder}'`, ...variables, here(setUp).replace(/ &\n$/, " > serve.log 2>&1 &\n"), "server=$!"].join("\n"),
    // The server says when it is there.
    `until grep -q 'Try it' serve.log; do kill -0 $server || exit 1; sleep 0.1; done\n${here(refused)}`,
    `${here(admitted)}\nkill $server; wait $server`,
  ]);
  const shown = blocks.find(({ language }) => language === "");
  assert.match(`${answer}\n`, shapeOf(shown?.text ?? "nothing"));
  assert.match(served, /^\{[^\n]*"totalSize":0\}hello/);
});

test("the options that docs/security.md shows are options", async () => {
  const blocks = blocksOf(security).filter(({ language }) => language === "json");
  assert.ok(blocks.length >= 4);
  for (const { text } of blocks) {
    const options = JSON.parse(text.replace("<digest>", createHash("sha256").update("key").digest("hex"))) as object;
    resolveOptions(options);
  }
  // The command that makes a digest makes that of the key.
  const hashing = blocksOf(security).find(({ language, text }) => language === "sh" && text.startsWith("key="));
  const [printed = ""] = await session([`${hashing?.text}printf %s "$key"`]);
  const [digest, key = ""] = printed.trim().split("\n");
  assert.match(key, /^[0-9a-f]{64}$/);
  assert.equal(digest, createHash("sha256").update(key).digest("hex"));
});
