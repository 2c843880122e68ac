/** A server whose agent delivers what its caller says, a server of files, and books. */
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before } from "node:test";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Task } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AClient, AcceptanceBook, type AcceptanceBookInit, type Check, MemoryRecords } from "../../src/client/index.ts";
import { isTask } from "../../src/client/task-view.ts";
import type { Agent } from "../../src/core/agent.ts";
import { artifact, completed, failed, inputRequired, type PartInit, rejected, working } from "../../src/core/events.ts";
import { type RunningServer, serve } from "../../src/server/serve.ts";

/** Nothing happens by the clock. */
const QUIET = { grpcPort: 0, httpPort: 0, opsPort: 0, workingAfterMs: 2 ** 30, drainDelayMs: 0, streamGraceMs: 0, drainMs: 0 };

/** What the agent is told to deliver. */
interface Delivery {
  /** One chunk for each of them. */
  readonly chunks?: readonly PartInit[];
  readonly artifactId?: string;
  readonly name?: string;
  /** A second artifact, of one text. */
  readonly appendix?: string;
  /** `working`: it goes on until it is canceled. Default `completed`. */
  readonly end?: "completed" | "failed" | "rejected" | "working" | "input";
}

/** Deliveries by a word, which the message's text is: parts of any kind get through without being sent. */
const deliveries = new Map<string, Delivery>();

const agent: Agent = {
  card: {
    name: "Report writer",
    description: "Delivers what it is told to",
    version: "1",
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [],
  },
  async *run({ message, signal }) {
    const { chunks = [], artifactId = "report", name = "report.md", appendix, end } = deliveries.get(textOf(message.parts)) ?? {};
    yield working("writing");
    for (const [index, part] of chunks.entries()) {
      yield artifact({ artifactId, name, parts: [part] }, { append: index > 0, lastChunk: index === chunks.length - 1 });
    }
    if (appendix !== undefined)
      yield artifact({ artifactId: "appendix", name: "appendix.md", parts: [{ content: { case: "text", value: appendix } }] });
    if (end === "failed") yield failed("it broke");
    else if (end === "rejected") yield rejected("not for me");
    else if (end === "input") yield inputRequired("which one?");
    else if (end === "working") await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    else yield completed("done");
  },
};

/** A server and its client. */
export interface AcceptanceBed {
  readonly client: A2AClient;
  readonly server: RunningServer;
  /** A task that was sent, at rest, or WORKING with all its chunks. */
  readonly task: (delivery: Delivery, refines?: Task) => Promise<Task>;
  /** Sends, and leaves the waiting to the caller. `refines`: a task that it refines. */
  readonly send: (delivery: Delivery, refines?: Task) => ReturnType<A2AClient["send"]>;
  /** The address of a file; the listener answers for all that is called below it. */
  readonly file: (listener: RequestListener) => string;
  readonly book: (init?: Partial<AcceptanceBookInit>) => AcceptanceBook;
}

/** Opens one for a suite. */
export function acceptanceBed(): () => AcceptanceBed {
  let bed: (AcceptanceBed & { readonly files: Server }) | undefined;
  before(async () => {
    const server = await serve({ ...QUIET, agent });
    const client = await A2AClient.connect(`http://127.0.0.1:${server.ports.http}`);
    const listeners = new Map<string, RequestListener>();
    const files = createServer((request, reply) => listeners.get(request.url?.split(/[/?]/)[1] ?? "")?.(request, reply));
    await once(files.listen(0, "127.0.0.1"), "listening");
    const send: AcceptanceBed["send"] = (delivery, refines) => {
      const word = crypto.randomUUID();
      deliveries.set(word, delivery);
      const parts = [{ content: { case: "text" as const, value: word } }];
      return client.send(refines === undefined ? { parts } : { parts, contextId: refines.contextId, referenceTaskIds: [refines.id] });
    };
    bed = {
      server,
      client,
      files,
      send,
      task: async (delivery, refines) => {
        const run = send(delivery, refines);
        if (delivery.end === "working") {
          for await (const { task } of run) if (task?.artifacts[0]?.parts.length === delivery.chunks?.length) break;
          await run.close();
          return client.getTask(run.task?.id ?? "");
        }
        const reply = await run;
        if (!isTask(reply)) throw new Error("the agent makes tasks");
        return reply;
      },
      file: (listener) => {
        const name = crypto.randomUUID();
        listeners.set(name, listener);
        return `http://127.0.0.1:${(files.address() as AddressInfo).port}/${name}`;
      },
      book: (init = {}) => new AcceptanceBook({ client, store: new MemoryRecords(), by: "ada", ...init }),
    };
  });
  after(async () => {
    await bed?.client.close();
    await bed?.server.drain({ atOnce: true, skip: AbortSignal.abort() });
    bed?.files.closeAllConnections();
    bed?.files.close();
  });
  return () => {
    if (bed === undefined) throw new Error("the server is not up");
    return bed;
  };
}

/** What the agent was told with a task: the same again is delivered to who sends it again. */
export function wordOf({ history }: Task): string {
  return textOf(history[0]?.parts ?? []);
}

/** The texts of parts, as one. */
export function textOf(parts: readonly PartInit[]): string {
  return parts.map(({ content }) => (content?.case === "text" ? content.value : "")).join("");
}

/** A part of text. */
export function text(value: string): PartInit {
  return { content: { case: "text", value } };
}

/** A part that refers to a file. */
export function file(url: string, filename = ""): PartInit {
  return { content: { case: "url", value: url }, filename };
}

/** A part of data. */
export function data(value: JsonValue): PartInit {
  return { content: { case: "data", value: fromJson(ValueSchema, value) } };
}

/** A report that has all it needs. */
export const WHOLE: readonly PartInit[] = [text("# Apples\n"), text("## Findings\nRed.\n"), text("## Conclusion\nEat them.\n")];

/** The same without its conclusion. */
export const CUT: readonly PartInit[] = WHOLE.slice(0, 2);

/** Passes where the report is concluded. */
export const CONCLUDED: Check = { criterion: "it has a conclusion", judge: ({ text: whole }) => whole.includes("## Conclusion\n") };

/** The decision and what it says, for comparing. */
export function brief({ decision, reason }: { readonly decision: string; readonly reason: string }): string {
  return `${decision}: ${reason}`;
}
