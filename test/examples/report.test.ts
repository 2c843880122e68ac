/** The report that is cut, recovered, held, accepted, refined, and spoken of late. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { story } from "../../examples/report/story.ts";
import { FileRecords, RecordReader } from "../../src/client/index.ts";
import { removeFolder, temporaryFolder } from "../redis/child-guard.ts";

test("a report that is cut is recovered, held without its conclusion, accepted as v1, refined to v2, and a late notice changes nothing", async () => {
  const directory = temporaryFolder("report");
  try {
    const told: string[] = [];
    const stands = await story({ directory, tell: (line) => told.push(line) });
    assert.equal(told.filter((line) => line.startsWith("sent")).length, 1);
    assert.ok(told.some((line) => line.startsWith("cut")));
    assert.ok(told.includes("recovered 3 chapters, none twice"));
    const reader = new RecordReader(new FileRecords(directory));
    const records = await reader.list();
    const [held, v1, v2, ...more] = records;
    assert.deepEqual(
      records.map(({ decision, version, observed }) => [decision, version, observed?.by, observed?.state]),
      [
        ["held", undefined, "stream", "TASK_STATE_COMPLETED"],
        ["accepted", 1, "stream", "TASK_STATE_COMPLETED"],
        ["accepted", 2, "stream", "TASK_STATE_COMPLETED"],
      ],
    );
    assert.deepEqual(more, []);
    assert.match(held?.gaps[0]?.what ?? "", /^conclusion\.md, .*: it broke off after 25 of 50 bytes$/);
    assert.equal(held?.gaps[0]?.owner, "the report writer");
    assert.deepEqual([v1?.taskId, v1?.artifactId, v1?.content?.complete, v1?.content?.files.length], [held?.taskId, "report", true, 1]);
    assert.deepEqual([v2?.predecessor, v2?.referenceTaskIds, v2?.contextId], [v1?.id, [v1?.taskId], v1?.contextId]);
    assert.deepEqual(stands, v2);
    assert.deepEqual(await reader.current(v1?.contextId ?? ""), v2);
  } finally {
    removeFolder(directory);
  }
});
