/** The fold of a log up to a position: the task, and the commands that a new owner would need. */
import { create, fromBinary, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { type Message, type StreamResponse, type Task, TaskSchema, TaskState, type TaskStatus } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { CheckpointSchema, type Command, type Memo } from "../../gen/throughline/v1/log_pb.ts";
import { type Entry, type Position, START } from "./log-entry.ts";
import { type Head, HEAD_HISTORY, type StoredCheckpoint } from "./storage.ts";
import { apply, applyMessage, copyTask } from "./task.ts";

/** A command at its place. */
export interface Placed {
  readonly offset: number;
  readonly command: Command;
}

/** The Task folded from entries 1..offset. */
export interface Snapshot {
  /** Stable: later folding leaves it alone. */
  readonly task: Task;
  readonly position: Position;
  /** What the agent left last for its turns; absent where it left nothing. */
  readonly memo?: JsonObject | undefined;
  /** The last command, where the fold still knows it. */
  readonly command?: Command | undefined;
}

/** A fold that goes on: entries are added to it in the order of their offsets. */
export class Fold {
  #task: Task | undefined;
  #view: Snapshot | undefined;
  #position: Position = START;
  #commands: Placed[] = [];
  #memo: Memo | undefined;
  readonly #historyLimit: number;
  /** A bound that is cheap to keep: never less than the encoded task. */
  bytes = 0;
  /** Bytes of all that was ever folded in; only grows. */
  folded = 0;

  constructor(historyLimit: number) {
    this.#historyLimit = historyLimit;
  }

  /** The fold that a checkpoint holds. */
  static restore({ position, bytes }: StoredCheckpoint, historyLimit: number): Fold {
    const stored = fromBinary(CheckpointSchema, bytes);
    const fold = new Fold(historyLimit);
    fold.#task = stored.task;
    fold.#position = position;
    fold.#commands = stored.commands.flatMap(({ offset, command }) => (command === undefined ? [] : [{ offset, command }]));
    fold.#memo = stored.memo;
    fold.bytes = bytes.length;
    return fold;
  }

  get position(): Position {
    return this.#position;
  }

  /** The task as it is now; changes with the next entry. Use {@link snapshot} for one that stays. */
  get task(): Task {
    if (this.#task === undefined) throw new TypeError("an empty log has no task");
    return this.#task;
  }

  /** Commands that the fold has seen and nobody has dropped, in order. */
  get commands(): readonly Placed[] {
    return this.#commands;
  }

  /** What the agent left last for later runs of its turns. */
  get memo(): JsonObject | undefined {
    return this.#memo?.value;
  }

  /** Adds the next entry; one that is already folded in is passed over. Throws on a gap: the caller skipped an entry. */
  add(entry: Entry): void {
    if (entry.offset <= this.#position.offset) return;
    if (entry.offset !== this.#position.offset + 1) throw new RangeError(`entry ${entry.offset} after ${this.#position.offset}`);
    if (entry.kind === "event") this.#task = apply(this.#task, entry.event, this.#historyLimit).task;
    else if (entry.kind === "memo") this.#memo = entry.memo;
    else this.#command(entry.offset, entry.command);
    this.#position = { offset: entry.offset, mark: entry.mark };
    this.#view = undefined;
    this.bytes += entry.bytes.length;
    this.folded += entry.bytes.length;
  }

  #command(offset: number, command: Command): void {
    this.#memo = command.memo ?? this.#memo;
    if (command.kind.case === "followUp") applyMessage(this.task, command.kind.value, this.#historyLimit);
    this.#commands.push({ offset, command });
  }

  /** Forgets commands before the one last given to the agent. */
  dropBefore(consumed: number): void {
    if ((this.#commands[0]?.offset ?? consumed) < consumed) {
      this.#commands = this.#commands.filter(({ offset }) => offset >= consumed);
    }
  }

  /** The task at this position, made once per position. */
  snapshot(): Snapshot {
    this.#view ??= { task: copyTask(this.task), position: this.#position, memo: this.memo, command: this.#commands.at(-1)?.command };
    return this.#view;
  }

  /** The fold as a checkpoint; of the commands, the one last given and all after it. */
  checkpoint(consumed: number): StoredCheckpoint {
    this.dropBefore(consumed);
    const commands = this.#commands.map((placed) => ({ ...placed }));
    const stored = create(CheckpointSchema, { task: this.task, commands, ...(this.#memo && { memo: this.#memo }) });
    return { position: this.#position, bytes: toBinary(CheckpointSchema, stored) };
  }

  /** What the encoded task would measure with further events. Costs a fold and an encoding. */
  sizeWith(events: readonly StreamResponse[]): number {
    let task = copyTask(this.task);
    for (const event of events) ({ task } = apply(task, event, this.#historyLimit));
    return toBinary(TaskSchema, task).length;
  }

  /** Measures the encoded task exactly. Costs an encoding: for the rare case that the running count nears a bound. */
  measure(): number {
    this.bytes = toBinary(TaskSchema, this.task).length;
    return this.bytes;
  }
}

/** The head of a task after further events: what lists show, without folding them in. */
export function headAfter(task: Task, events: readonly StreamResponse[], message?: Message): Head {
  let status: TaskStatus | undefined = task.status;
  const history = task.history.slice(-HEAD_HISTORY);
  let historyLength = task.history.length;
  const remember = (said: Message): void => {
    history.push(said);
    historyLength += 1;
  };
  for (const { payload } of events) {
    if (payload.case !== "statusUpdate") continue;
    if (status?.message !== undefined) remember(status.message);
    status = payload.value.status;
  }
  if (message !== undefined) remember(message);
  const brief = create(TaskSchema, { id: task.id, contextId: task.contextId, history: history.slice(-HEAD_HISTORY) });
  if (status !== undefined) brief.status = status;
  if (task.metadata !== undefined) brief.metadata = task.metadata;
  return new LazyHead(brief, historyLength);
}

/** Bytes beyond which a head gives up messages of its history: a page of a list has a hundred heads. */
const HEAD_BYTES = 32 * 1024;

/** A head that is encoded when somebody asks for its bytes: a store that never leaves the process asks for few of them. */
class LazyHead implements Head {
  readonly state: TaskState;
  readonly statusTime: number;
  readonly historyLength: number;
  readonly #brief: Task;

  constructor(brief: Task, historyLength: number) {
    this.#brief = brief;
    this.historyLength = historyLength;
    this.state = brief.status?.state ?? TaskState.UNSPECIFIED;
    this.statusTime = statusTimeOf(brief);
  }

  get task(): Uint8Array {
    let bytes = toBinary(TaskSchema, this.#brief);
    // Of a long history the latest part that is small enough; lists that want more read the task.
    while (bytes.length > HEAD_BYTES && this.#brief.history.length > 0) {
      this.#brief.history = this.#brief.history.slice(Math.ceil(this.#brief.history.length / 2));
      bytes = toBinary(TaskSchema, this.#brief);
    }
    return bytes;
  }
}

/** When the status of a task was recorded, in milliseconds since 1970. */
export function statusTimeOf(task: Task): number {
  return task.status?.timestamp === undefined ? 0 : timestampMs(task.status.timestamp);
}
