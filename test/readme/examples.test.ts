/** examples/README.md: an agent that calls an agent, as the page shows it. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { QUICK, startServer } from "../e2e/server-process.ts";
import { blocksOf, chapterOf, document, shapeOf } from "./markdown.ts";
import { session } from "./session.ts";

suite("the page on the examples", { timeout: 240_000 }, () => {
  test("shows what the planner says of a run of the tests", async () => {
    const [services, command, transcript] = blocksOf(chapterOf(document("examples/README.md"), "An agent that calls an agent"));
    const [runnerLine, plannerLine = ""] = (services?.text ?? "").trimEnd().split("\n");
    assert.equal(runnerLine, "npm start");
    const [, agent = "", port = ""] = /^npx node src\/cli\/main\.ts serve (\S+) --grpc-port \d+ --http-port (\d+) /.exec(plannerLine) ?? [];
    await using runner = await startServer(["examples/test-runner/agent.ts"]);
    await using planner = await startServer([agent], {
      ...QUICK,
      THROUGHLINE_PLANNER_RUNNER: `http://127.0.0.1:${runner.ports.http}`,
    });
    const line = (command?.text ?? "")
      .replaceAll("npx throughline ", "node src/cli/main.ts ")
      .replaceAll(`127.0.0.1:${port}`, `127.0.0.1:${planner.ports.http}`);
    const [printed = ""] = await session([`exec 2>&1\n${line}`]);
    assert.match(printed, shapeOf(transcript?.text ?? ""));
  });
});
