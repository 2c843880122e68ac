/**
 * Writes a report, a chapter at a time. A draft has no conclusion. Where the agent has a place for files, the conclusion is a file there, and the
 * report refers to it: whoever accepts it has to fetch the file first.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type Agent, type AgentEvent, artifact, completed, textPart, type Turn, urlPart, working } from "../../src/index.ts";

/** How the agent works. */
export interface ReportWriterOptions {
  /** Address of the conclusion. Default: it is a chapter like the others. */
  readonly conclusionUrl?: string;
  /** What writing a chapter takes. Default: a fifth of a second. */
  readonly write?: (signal: AbortSignal) => Promise<unknown>;
}

/** What a conclusion says. */
export const CONCLUSION = "## Conclusion\n\nKeep them cool, and eat them soon.\n";

/** An agent that writes reports. */
export function reportWriter({ conclusionUrl, write = (signal) => delay(200, undefined, { signal }) }: ReportWriterOptions = {}): Agent {
  return {
    card: {
      name: "Report writer",
      description: "Writes a report, a chapter at a time; a draft has no conclusion.",
      version: "1.0.0",
      defaultInputModes: ["text/plain"],
      defaultOutputModes: ["text/markdown"],
      skills: [
        {
          id: "report",
          name: "Write a report",
          description: "Answers a report as artifact report, a part per chapter.",
          tags: ["report"],
          examples: ["a report on apples", "a draft on apples"],
        },
      ],
    },
    run: (turn) => chapters(turn, { conclusionUrl, write }),
  };
}

async function* chapters(
  { message, signal }: Turn,
  { conclusionUrl, write }: { readonly conclusionUrl: string | undefined; readonly write: Required<ReportWriterOptions>["write"] },
): AsyncGenerator<AgentEvent> {
  const asked = message.parts.map(({ content }) => (content.case === "text" ? content.value : "")).join(" ");
  yield working("writing");
  const conclusion = conclusionUrl === undefined ? textPart(CONCLUSION) : urlPart(conclusionUrl, "conclusion.md", "text/markdown");
  const all = [
    textPart(`# ${asked.charAt(0).toUpperCase()}${asked.slice(1)}\n\n`),
    textPart("## Findings\n\nThey are red, and some are green.\n\n"),
    ...(/\bdraft\b/.test(asked) ? [] : [conclusion]),
  ];
  for (const [index, part] of all.entries()) {
    await write(signal);
    const chunk = { artifactId: "report", name: "report.md", parts: [part] };
    yield artifact(chunk, { append: index > 0, lastChunk: index === all.length - 1 });
  }
  yield completed("written");
}

const agent: Agent = reportWriter();
export default agent;
