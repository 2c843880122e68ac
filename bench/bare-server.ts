/**
 * The floor: grpc-js alone with the frames of the bench agent as bytes, each encoded once. There is no task but a list of frames: no check, no
 * state, no log. A subscription to a task that it does not know gets one frame and stays open.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { Server, ServerCredentials, type sendUnaryData, type ServerUnaryCall, type ServerWritableStream } from "@grpc/grpc-js";
import {
  A2AService,
  GetTaskRequestSchema,
  SendMessageRequestSchema,
  StreamResponseSchema,
  SubscribeToTaskRequestSchema,
  TaskSchema,
  TaskState,
} from "../gen/lf/a2a/v1/a2a_pb.ts";
import { pacer, parseScript, updateText } from "../examples/conformance-agent/bench-script.ts";
import { ready } from "./server-process.ts";

const HOST = "127.0.0.1";
const ARTIFACT_ID = "bench";

type Stream = ServerWritableStream<Buffer, Buffer>;
type Unary = ServerUnaryCall<Buffer, Buffer>;
type Update = NonNullable<MessageInitShape<typeof StreamResponseSchema>["payload"]>;

/** One run and who follows it. */
class Run {
  readonly taskId: string = crypto.randomUUID();
  readonly contextId: string = crypto.randomUUID();
  readonly abort: AbortController = new AbortController();
  readonly #text: string;
  readonly #streams = new Set<Stream>();
  readonly #texts: string[] = [];
  #state: TaskState = TaskState.SUBMITTED;
  #whole: Buffer | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  /** The Task as it is now, as bytes; made anew where it has changed. */
  task(): Buffer {
    return (this.#whole ??= Buffer.from(toBinary(TaskSchema, create(TaskSchema, this.#value()))));
  }

  follow(stream: Stream): void {
    stream.write(frame({ case: "task", value: this.#value() }));
    this.#streams.add(stream);
    stream.once("cancelled", () => this.#streams.delete(stream));
  }

  async run(): Promise<void> {
    const script = parseScript(this.#text);
    const pause = (ms: number): Promise<void> => sleep(ms, undefined, { signal: this.abort.signal });
    if (script.silent > 0) await pause(script.silent);
    this.#status(TaskState.WORKING);
    if (script.start > 0) await pause(script.start);
    const beat = pacer(script.delay, this.abort.signal);
    for (let index = 0; index < script.events; index++) {
      if (index > 0 && script.delay > 0) await beat();
      this.#chunk(updateText(script.bytes), index > 0);
    }
    if (script.hold > 0) await pause(script.hold);
    this.end(TaskState.COMPLETED);
  }

  end(state: TaskState): void {
    this.#status(state);
    for (const stream of this.#streams) stream.end();
    this.#streams.clear();
  }

  #value(): Extract<Update, { case: "task" }>["value"] {
    const parts = this.#texts.map(textPart);
    const history = [{ messageId: crypto.randomUUID(), taskId: this.taskId, contextId: this.contextId, parts: [textPart(this.#text)] }];
    const artifacts = parts.length === 0 ? [] : [{ artifactId: ARTIFACT_ID, parts }];
    return { id: this.taskId, contextId: this.contextId, status: { state: this.#state }, history, artifacts };
  }

  #status(state: TaskState): void {
    this.#state = state;
    this.#tell({ case: "statusUpdate", value: { ...this.#names(), status: { state } } });
  }

  #chunk(text: string, append: boolean): void {
    this.#texts.push(text);
    this.#tell({
      case: "artifactUpdate",
      value: { ...this.#names(), append, artifact: { artifactId: ARTIFACT_ID, parts: [textPart(text)] } },
    });
  }

  #tell(update: Update): void {
    this.#whole = undefined;
    const bytes = frame(update);
    for (const stream of this.#streams) stream.write(bytes);
  }

  #names(): { taskId: string; contextId: string } {
    return { taskId: this.taskId, contextId: this.contextId };
  }
}

const textPart = (value: string): { content: { case: "text"; value: string } } => ({ content: { case: "text", value } });

const frame = (payload: Update): Buffer => Buffer.from(toBinary(StreamResponseSchema, create(StreamResponseSchema, { payload })));

const pass = (bytes: Buffer): Buffer => bytes;

const method = (name: string, responseStream: boolean) =>
  ({
    path: `/${A2AService.typeName}/${name}`,
    requestStream: false,
    responseStream,
    requestSerialize: pass,
    requestDeserialize: pass,
    responseSerialize: pass,
    responseDeserialize: pass,
  }) as const;

const runs = new Map<string, Run>();
const none = Buffer.alloc(0);

const server = new Server();
server.addService(
  {
    SendStreamingMessage: method("SendStreamingMessage", true),
    SubscribeToTask: method("SubscribeToTask", true),
    GetTask: method("GetTask", false),
    CancelTask: method("CancelTask", false),
  },
  {
    SendStreamingMessage: (call: Stream) => {
      const { message } = fromBinary(SendMessageRequestSchema, call.request);
      const content = message?.parts[0]?.content;
      const run = new Run(content?.case === "text" ? content.value : "");
      runs.set(run.taskId, run);
      run.follow(call);
      run.run().catch(() => undefined);
    },
    SubscribeToTask: (call: Stream) => {
      const { id } = fromBinary(SubscribeToTaskRequestSchema, call.request);
      (runs.get(id) ?? new Run("events=3")).follow(call);
    },
    GetTask: (call: Unary, answer: sendUnaryData<Buffer>) => {
      answer(null, runs.get(fromBinary(GetTaskRequestSchema, call.request).id)?.task() ?? none);
    },
    CancelTask: (call: Unary, answer: sendUnaryData<Buffer>) => {
      const run = runs.get(fromBinary(GetTaskRequestSchema, call.request).id);
      run?.abort.abort();
      run?.end(TaskState.CANCELED);
      answer(null, run?.task() ?? none);
    },
  },
);
const bind = promisify(server.bindAsync.bind(server));
const port = await bind(`${HOST}:0`, ServerCredentials.createInsecure());
ready({ grpc: `${HOST}:${port}` });
