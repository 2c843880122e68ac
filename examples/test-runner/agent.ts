/**
 * Runs the tests of a project and streams their output: the log as one growing artifact, the counts as another.
 *
 * It is not `resumable`: a run lives in a process of this machine. After a crash or a drain another replica has neither that
 * process nor its pipe, and a second run from the start would put its log behind half of the first one's.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import {
  type Agent,
  type AgentCardInit,
  type AgentEvent,
  artifact,
  completed,
  dataPart,
  failed,
  inputRequired,
  rejected,
  Role,
  textPart,
  type Turn,
  working,
} from "../../src/index.ts";
import { checkOut } from "./checkout.ts";
import { commandEnv, type Exit, startCommand } from "./child-process.ts";
import { textChunks } from "./chunker.ts";
import { allowedProjects, CannotRun, type Projects, testScript } from "./projects.ts";
import { readRequest, type TestRequest } from "./request.ts";
import { type Counts, SummaryReader } from "./summary.ts";

export interface TestRunnerOptions {
  /** Which projects may be tested. */
  readonly projects: Projects;
  /** From SIGTERM to SIGKILL when a run is ended early. Default 2,000. */
  readonly killAfterMs?: number;
  /** The least time between two progress messages. Default 1,000: they are for people. */
  readonly progressMs?: number;
}

/** A run that can begin. */
type Run = Extract<TestRequest, { project: string }>;

/** An agent for the given projects. */
export function testRunner(options: TestRunnerOptions): Agent {
  return {
    card: cardFor(options.projects),
    async *run(turn) {
      const asked = turn.history.filter(({ role }) => role === Role.USER);
      const request = readRequest(asked, options.projects);
      if ("refusal" in request) {
        yield rejected(request.refusal);
        return;
      }
      if ("question" in request) {
        yield inputRequired(request.question);
        return;
      }
      try {
        yield* runTests(turn, request, options);
      } catch (error) {
        if (turn.signal.aborted) return;
        if (!(error instanceof CannotRun)) throw error;
        yield failed(`${request.project}: ${error.message}`);
      }
    },
  };
}

async function* runTests({ signal }: Turn, { project, directory, commit }: Run, options: TestRunnerOptions): AsyncGenerator<AgentEvent> {
  const { killAfterMs = 2_000, progressMs = 1_000 } = options;
  if (commit !== undefined) yield working(`checking out ${project} at ${commit}`);
  await using checkout = commit === undefined ? undefined : await checkOut(directory, commit, signal);
  const cwd = checkout?.directory ?? directory;
  const script = await testScript(cwd);
  yield working(`running ${project}${commit === undefined ? "" : ` at ${commit}`}: ${script}`);
  if (signal.aborted) return;

  const reader = new SummaryReader();
  await using command = startCommand(script, { cwd, env: commandEnv(cwd), signal, killAfterMs });
  let append = false;
  let toldAt = 0;
  let told = 0;
  for await (const { text, last } of textChunks(command.output)) {
    if (signal.aborted) return;
    reader.write(text);
    const head = append ? {} : { name: "test-log.txt", description: `what the tests of ${project} wrote` };
    yield artifact({ artifactId: "test-log", ...head, parts: [textPart(text, "text/plain")] }, { append, lastChunk: last });
    if (!append) toldAt = performance.now();
    append = true;
    if (last || reader.finished === told || performance.now() - toldAt < progressMs) continue;
    told = reader.finished;
    toldAt = performance.now();
    yield working(progress(reader));
  }
  const exit = await command.exited;
  if (signal.aborted) return;
  reader.end();
  const named = checkout === undefined ? { project } : { project, commit: checkout.sha };
  const summary = { ...named, ...reader.counts, ...ended(exit), failures: reader.failures };
  yield artifact(
    { artifactId: "test-summary", name: "test-summary.json", parts: [dataPart(summary, "application/json")] },
    { lastChunk: true },
  );
  const verdict = describe(exit, reader.counts);
  yield exit.code === 0 ? completed(verdict) : failed(verdict);
}

function progress({ passed, failed: broken }: SummaryReader): string {
  return broken === 0 ? `${passed} tests passed so far` : `${passed} tests passed, ${broken} failed so far`;
}

function ended({ code, signal, durationMs }: Exit): JsonObject {
  return signal === null ? { durationMs, exitCode: code } : { durationMs, exitCode: null, signal };
}

/** The exit decides; the counts explain. */
function describe({ code, signal, durationMs }: Exit, counts: Counts | undefined): string {
  const time = `in ${(durationMs / 1_000).toFixed(1)} s`;
  const how = signal === null ? `exit code ${code}` : `ended by ${signal}`;
  if (counts === undefined) return `${how} ${time}`;
  const [passed, broken] = [`${counts.passed} passed`, `${counts.failed} failed`];
  const skipped = counts.skipped === 0 ? "" : `, ${counts.skipped} skipped`;
  if (code === 0) return `${passed}, ${broken}${skipped} ${time}`;
  return `${broken}, ${passed}${skipped} ${time} (${how})`;
}

function cardFor(projects: Projects): AgentCardInit {
  const names = [...projects.keys()];
  const example = names[0] ?? "payments-api";
  return {
    name: "Test runner",
    description: `Runs the tests of a project and streams their output. Projects: ${names.join(", ")}.`,
    version: "1.0.0",
    capabilities: { streaming: true },
    defaultInputModes: ["text/plain", "application/json"],
    defaultOutputModes: ["text/plain", "application/json"],
    skills: [
      {
        id: "run-tests",
        name: "Run tests",
        description:
          'Runs the test command of the project that the message names, optionally at a commit. The words may be data instead: {"project", "commit"}. ' +
          "Answers the log as artifact test-log and the counts as artifact test-summary.",
        tags: ["testing", "continuous integration"],
        examples: [`run the tests of ${example}`, `run the tests of ${example} at 1a2b3c4`, `{"project": "${example}", "commit": "main"}`],
      },
    ],
  };
}

const agent: Agent = testRunner({ projects: allowedProjects(process.env) });
export default agent;
