/** Records for tests of stores. */
import type { AcceptanceRecord } from "../../src/client/index.ts";

/** A record with all that one may have, but for what is given. */
export function recordOf(more: Partial<AcceptanceRecord> = {}): AcceptanceRecord {
  return {
    format: 1,
    id: crypto.randomUUID(),
    at: new Date().toISOString(),
    by: "ada",
    decision: "accepted",
    reason: "it is complete",
    version: 2,
    predecessor: "another",
    contextId: "context",
    taskId: "task",
    messageId: "message",
    artifactId: "report",
    work: "report.md",
    referenceTaskIds: ["first"],
    agent: { name: "Writer", binding: "GRPC", url: "grpc://agent.example", tenant: "", protocolVersion: "1.0" },
    observed: { by: "stream", state: "TASK_STATE_COMPLETED", at: new Date().toISOString() },
    content: {
      digest: `sha256:${"0".repeat(64)}`,
      bytes: 12,
      complete: true,
      kept: false,
      files: [{ url: "https://files.example/a", filename: "a", mediaType: "", digest: `sha256:${"1".repeat(64)}`, bytes: 2 }],
    },
    criteria: ["fine"],
    checks: [{ criterion: "fine", passed: true, by: "grace", at: new Date().toISOString(), output: "ü \u0000 \\" }],
    gaps: [{ what: "nothing", owner: "ada" }],
    ...more,
  };
}
