/**
 * A report that is cut on its way, recovered, held because its conclusion is missing, and accepted as v1 when that is there; a refinement that is
 * accepted as v2; and a notice of the first task that comes late and changes nothing.
 */
import { clone } from "@bufbuild/protobuf";
import {
  A2AClient,
  AgentCardSchema,
  AcceptanceBook,
  type AcceptanceRecord,
  type Check,
  FileRecords,
  type StreamResponse,
  type Task,
} from "../../src/client/index.ts";
import { serve, textPart } from "../../src/index.ts";
import { CONCLUSION, reportWriter } from "./agent.ts";
import { cutter } from "./cutter.ts";
import { unfinishedFile } from "./unfinished-file.ts";

/** What was agreed on: a report without a conclusion is none. */
const CONCLUDED: Check = { criterion: "it has a conclusion", judge: ({ text }) => text.includes("## Conclusion\n") };

/** What happens, and what is told of it. */
export interface Story {
  /** Where records are kept. */
  readonly directory: string;
  readonly tell: (line: string) => void;
}

/** Tells the story, with a server, a file server and a client of its own; answers what stands in the end. */
export async function story({ directory, tell }: Story): Promise<AcceptanceRecord | undefined> {
  await using opened = new AsyncDisposableStack();
  const file = opened.use(await unfinishedFile("conclusion.md", CONCLUSION));
  const server = await serve({ agent: reportWriter({ conclusionUrl: file.url }), httpPort: 0, grpcPort: 0, opsPort: 0, drainDelayMs: 0 });
  opened.defer(() => server.drain({ atOnce: true, skip: AbortSignal.abort() }));
  const way = opened.use(await cutter(server.ports.grpc));
  const card = clone(AgentCardSchema, server.card);
  for (const one of card.supportedInterfaces) one.url = one.url.replace(`:${server.ports.grpc}`, `:${way.port}`);
  const reconnecting = (): void => tell("cut       the connection is lost; the task is not");
  const client = opened.use(await A2AClient.connect(card, { bindings: ["GRPC"], reconnecting }));
  const book = new AcceptanceBook({ client, store: new FileRecords(directory), by: "ada" });
  const judge = async (subject: Parameters<typeof book.accept>[0]): Promise<AcceptanceRecord> => {
    const record = await book.accept(subject, { checks: [CONCLUDED], owner: "the report writer" });
    tell(`${record.decision.padEnd(10)}${record.version === undefined ? "" : `v${record.version}: `}${record.reason}`);
    return record;
  };

  const run = client.send("a report on apples");
  let notice: StreamResponse | undefined;
  for await (const { event, task } of run) {
    if (event.case === "task") tell(`sent      task ${event.value.id}`);
    if (event.case === "artifactUpdate" && task?.artifacts[0]?.parts.length === 1) way.cut();
    // What a webhook would be sent.
    if (event.case === "statusUpdate") notice = { $typeName: "lf.a2a.v1.StreamResponse", payload: event };
  }
  const first = (await run) as Task;
  tell(`recovered ${first.artifacts[0]?.parts.length} chapters, none twice`);
  await judge(run);
  file.finish();
  const v1 = await judge(run);

  const refined = client.send({
    parts: [textPart("a report on apples, and on pears")],
    contextId: first.contextId,
    referenceTaskIds: [first.id],
  });
  tell(`refined   task ${((await refined) as Task).id}`);
  const v2 = await judge(refined);
  tell(`replaces  ${v2.predecessor === v1.id ? "v1" : "nothing"}`);

  if (notice !== undefined) {
    tell("notice    the first task is completed, says a webhook, late");
    await book.accept(notice, { checks: [CONCLUDED] });
  }
  const current = await book.current(first.contextId);
  tell(`stands    v${current?.version} of task ${current?.taskId}`);
  return current;
}
