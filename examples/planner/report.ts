/** What a run of tests came to, for people: made of what the test-runner has delivered. */
import { toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Artifact, Message, Task } from "../../src/index.ts";

/** A test that failed, as the log of node:test tells it. */
interface Told {
  readonly name: string;
  /** `test/ledger.test.js:41:5`. */
  readonly where: string;
  /** The error's message. */
  readonly why: string;
}

/** The end of the log: where a test stands, its name and duration, and its error, indented. */
const failure = /^test at (.+:\d+:\d+)\n✖ (.+?)(?: \([\d.]+ms\))?\n((?: {2}.*\n)*)/gmu;

/** What failed, and where, in Markdown. Undefined where the tests were not run. */
export function reportOf({ artifacts, status }: Task): string | undefined {
  const [summary] = artifacts.find(({ artifactId }) => artifactId === "test-summary")?.parts ?? [];
  if (summary?.content.case !== "data") return undefined;
  const { project, failures } = toJson(ValueSchema, summary.content.value) as { project: string; failures: string[] };
  const told = failuresIn(textOf(artifacts.find(({ artifactId }) => artifactId === "test-log")));
  const chapters = failures.map((test) => {
    // The summary names a test with its suites, the log without them; both are in one order.
    const at = told.findIndex(({ name }) => test === name || test.endsWith(` > ${name}`));
    const [found] = at < 0 ? [] : told.splice(at, 1);
    return found === undefined ? `## ${test}\n` : `## ${test}\n\n${found.where}\n\n${found.why.replace(/^(?=.)/gm, "    ")}\n`;
  });
  return [`# ${project}: ${textOf(status?.message)}\n`, ...chapters].join("\n");
}

/** The texts of a message, or of an artifact. */
export function textOf(holder: Message | Artifact | undefined): string {
  return (holder?.parts ?? []).map(({ content }) => (content.case === "text" ? content.value : "")).join("");
}

function failuresIn(log: string): Told[] {
  return [...log.matchAll(failure)].map(([, where = "", name = "", error = ""]) => ({
    where,
    name,
    // Where the stack begins, the message has ended.
    why: error
      .replaceAll(/^ {2}/gm, "")
      .replace(/^ +at [\s\S]*/m, "")
      .trim(),
  }));
}
