/** A front before a Python agent that keeps its work in files. The environment is that of `npm run test:interop`. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { A2AClient } from "../../src/client/index.ts";
import { serve } from "../../src/server/serve.ts";
import { upstreamAgent } from "../../src/upstream/upstream-agent.ts";
import { freePort } from "../redis/free-port.ts";
import { type DurableUpstream, survives } from "./durable-upstream.ts";
import { QUIET } from "./front-bed.ts";
import { asTask, said, stateName, texts } from "./tasks.ts";
import { UpstreamProcess } from "./upstream-process.ts";

const CACHE = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "throughline-interop");
const PYTHON = join(CACHE, "python/env/bin/python");
const skip = !existsSync(PYTHON) && "`npm run test:interop -- --only python` builds what this needs";

async function start(): Promise<DurableUpstream> {
  const directory = mkdtempSync(join(tmpdir(), "throughline-python-"));
  const [http, grpc] = [await freePort(), await freePort()];
  const args = ["-B", "test/upstream/python/durable_agent.py", directory, String(http), String(grpc)];
  const upstream = await UpstreamProcess.start({ file: PYTHON, args, ready: /^ready/ });
  return {
    process: upstream,
    url: `http://127.0.0.1:${http}/.well-known/agent-card.json`,
    ask: (count, ms) => `lines ${count} ${ms}`,
    line: (index) => `line ${index}\n`,
    [Symbol.asyncDispose]: async () => {
      await upstream[Symbol.asyncDispose]();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

suite("a front before a Python agent", { concurrency: 2, timeout: 300_000, skip }, () => {
  survives(["GRPC", "HTTP+JSON", "JSONRPC"], start);

  test("questions and messages are as they are without a front", async () => {
    await using upstream = await start();
    await using agent = await upstreamAgent(upstream.url);
    await using server = await serve({ ...QUIET, agent });
    await using client = await A2AClient.connect(`http://127.0.0.1:${server.ports.http}`);
    assert.equal(server.card.name, "lines");
    assert.equal((await client.send("message hello")).$typeName, "lf.a2a.v1.Message");
    const asked = asTask(await client.send("ask"));
    assert.deepEqual([stateName(asked), said(asked)], ["INPUT_REQUIRED", "Which?"]);
    assert.deepEqual(texts(asTask(await client.send("this", { taskId: asked.id }))), ["you said this"]);
  });
});
