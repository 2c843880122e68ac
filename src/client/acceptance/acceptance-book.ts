/** The book of acceptance: decides, records what was decided and why, and knows what stands. */
import type { Artifact, Task } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { AcceptanceError } from "./acceptance-error.ts";
import { type ArtifactContent, artifactContent } from "./artifact-content.ts";
import { type Check, criteriaOf, runChecks } from "./check.ts";
import type { FileOptions } from "./fetch-files.ts";
import { type AcceptanceClient, isCompleted, type Observation, observe, referencesOf, type Subject } from "./observation.ts";
import type { AcceptanceRecord, CheckResult, RecordDraft } from "./record.ts";
import { RecordReader } from "./record-reader.ts";
import type { RecordStore } from "./record-store.ts";
import { type Outcome, rulingOf, rulingWithoutContent } from "./ruling.ts";
import { latestOf, repeats, workOf } from "./standing.ts";

/** What a book is made of. */
export interface AcceptanceBookInit {
  readonly store: RecordStore;
  /** Of the agent whose tasks they are. */
  readonly client: AcceptanceClient;
  /** Who decides: a person, a program. */
  readonly by: string;
  /** How files are fetched that parts refer to. */
  readonly files?: FileOptions;
  /** Whether the store keeps the bytes that were judged, beside their digest. Default false. */
  readonly keep?: boolean;
}

/** What each decision may be given. */
export interface DecisionOptions {
  /** Default: the task's only artifact. */
  readonly artifactId?: string;
  /**
   * The piece of work that this artifact is a version of. Default: its name, or where it has none that of the work of the tasks it refines, or
   * its id.
   */
  readonly work?: string;
  /** Who is to see to what could not be observed. Default: who decides. */
  readonly owner?: string;
  /** Where the task's context cannot be observed. Default: that of its records, or none. */
  readonly contextId?: string;
  /** Ends it with its reason; nothing is recorded then. */
  readonly signal?: AbortSignal;
}

/** What an acceptance may be given. */
export interface AcceptOptions extends DecisionOptions {
  /** At least one, here or in `criteria`. */
  readonly checks: readonly Check[];
  /** Agreed criteria beside those of the checks; one that no check is for holds the acceptance. */
  readonly criteria?: readonly string[];
  /** Id of the accepted record, or of its task, that this one replaces, where its messages do not say what it refines. */
  readonly replaces?: string;
}

/** What a hold or a rejection is given. */
export interface StatementOptions extends DecisionOptions {
  readonly reason: string;
  /** What could not be observed. */
  readonly gap?: string;
}

/** A book: any number of them, in any number of processes, may share a store. */
export class AcceptanceBook extends RecordReader {
  readonly #init: AcceptanceBookInit;

  constructor(init: AcceptanceBookInit) {
    super(init.store);
    if (init.by.trim() === "") throw new AcceptanceError("by", "it must say who decides");
    this.#init = init;
  }

  /**
   * Judges one artifact of one task and records what it comes to: `accepted` where the task is COMPLETED, the content complete with the files
   * behind it, and every criterion met by its checks; `held` where it is not; `provisional` while the task is not over; `rejected` where it ended
   * FAILED, CANCELED or REJECTED. An accepted record is replaced by a task in the same context that refines its task (CL-24), and stands until
   * that one passes. What was accepted or rejected before is answered as it is: a repeated or a late notice changes nothing.
   * Throws A2AError where the agent cannot be asked, AcceptanceError where the input is wrong.
   */
  async accept(subject: Subject, { checks, criteria = [], replaces, ...options }: AcceptOptions): Promise<AcceptanceRecord> {
    const agreed = criteriaOf(criteria, checks);
    const signal = options.signal ?? new AbortController().signal;
    const { draft, artifact, task } = await this.#observed(subject, options, { whatever: false, criteria: agreed, signal });
    const { records } = await this.store.read(draft.contextId);
    if (rulingWithoutContent(records, { draft, replaces }) !== undefined || artifact === undefined)
      return this.#record(draft, (before) => rulingOf(before, { draft, replaces }));
    const content = await artifactContent(artifact, this.#init.files ?? {}, signal);
    const whole = isCompleted(task) && content.missing.length === 0;
    const results = whole ? await runChecks(checks, content, { by: this.#init.by, signal }) : [];
    const judged = await this.#withContent(draft, { content, task, results, options });
    return this.#record(judged, (before) => rulingOf(before, { draft: judged, replaces }));
  }

  /** Records that an artifact is not accepted as it is, and why. What was accepted or rejected is open again. What cannot be observed is a gap. */
  hold(subject: Subject, options: StatementOptions): Promise<AcceptanceRecord> {
    return this.#state("held", subject, options);
  }

  /** As {@link hold}, that it is no delivery. It stays so until it is held again. */
  reject(subject: Subject, options: StatementOptions): Promise<AcceptanceRecord> {
    return this.#state("rejected", subject, options);
  }

  async #state(decision: "held" | "rejected", subject: Subject, { reason, gap, ...options }: StatementOptions): Promise<AcceptanceRecord> {
    if (reason.trim() === "") throw new AcceptanceError("reason", "it must say why");
    const signal = options.signal ?? new AbortController().signal;
    const { draft, artifact, task } = await this.#observed(subject, options, { whatever: true, criteria: [], signal });
    const stated = gap === undefined ? draft : { ...draft, gaps: [...draft.gaps, { what: gap, owner: options.owner ?? this.#init.by }] };
    if (artifact === undefined) return this.#record(stated, () => ({ decision, reason }));
    const content = await artifactContent(artifact, this.#init.files ?? {}, signal);
    const seen = await this.#withContent(stated, { content, task, results: [], options });
    return this.#record(seen, () => ({ decision, reason }));
  }

  async #observed(
    subject: Subject,
    options: DecisionOptions,
    { whatever, criteria, signal }: { readonly whatever: boolean; readonly criteria: readonly string[]; readonly signal: AbortSignal },
  ): Promise<{ readonly draft: RecordDraft; readonly artifact: Artifact | undefined; readonly task: Task | undefined }> {
    const { client, by } = this.#init;
    const seen = await observe(subject, { client, whatever, signal });
    const { task, taskId, messageId, observed, agent } = seen;
    const contextId = seen.contextId ?? options.contextId ?? (await this.#contextOf(taskId));
    const { records } = await this.store.read(contextId);
    const artifact = task && artifactOf(task, options.artifactId);
    const artifactId = artifact?.artifactId ?? options.artifactId ?? artifactOnRecord(records, taskId);
    const referenceTaskIds = task === undefined ? [] : referencesOf(task);
    const draft: RecordDraft = {
      by,
      contextId,
      taskId,
      ...(messageId !== undefined && { messageId }),
      artifactId,
      work:
        options.work ??
        (artifact === undefined
          ? latestOf(records, { taskId, artifactId, ...(messageId !== undefined && { messageId }) })?.work
          : undefined) ??
        workOf(records, { artifactId, name: artifact?.name ?? "", alone: task?.artifacts.length === 1, referenceTaskIds }),
      referenceTaskIds,
      ...(agent && { agent }),
      ...(observed && { observed }),
      criteria,
      checks: [],
      gaps: gapsOf(seen, artifact, options.artifactId).map((what) => ({ what, owner: options.owner ?? by })),
    };
    return { draft, artifact, task };
  }

  async #withContent(
    draft: RecordDraft,
    {
      content,
      task,
      results,
      options,
    }: {
      readonly content: ArtifactContent;
      readonly task: Task | undefined;
      readonly results: readonly CheckResult[];
      readonly options: DecisionOptions;
    },
  ): Promise<RecordDraft> {
    const { keep = false, by } = this.#init;
    if (keep) await this.store.keep(content.digest, content.bytes);
    const recorded = content.recorded(keep);
    const missing = content.missing.map((what) => ({ what, owner: options.owner ?? by }));
    return {
      ...draft,
      content: { ...recorded, complete: recorded.complete && isCompleted(task) },
      checks: results,
      gaps: [...draft.gaps, ...missing],
    };
  }

  /** Appends what is decided on the records as they are, and decides anew where another was appended meanwhile. */
  async #record(draft: RecordDraft, decide: (records: readonly AcceptanceRecord[]) => Outcome): Promise<AcceptanceRecord> {
    for (;;) {
      const { records, end } = await this.store.read(draft.contextId);
      const outcome = decide(records);
      if ("settled" in outcome) return outcome.settled;
      const last = latestOf(records, draft);
      if (last !== undefined && repeats(last, outcome, draft)) return last;
      const record: AcceptanceRecord = { format: 1, id: crypto.randomUUID(), at: new Date().toISOString(), ...outcome, ...draft };
      if (await this.store.append(record, end)) return record;
    }
  }

  /** The context in which a task was recorded before. */
  async #contextOf(taskId: string): Promise<string> {
    if (taskId === "") return "";
    const all = await this.store.all();
    return all.findLast((record) => record.taskId === taskId)?.contextId ?? "";
  }
}

/** The artifact that is meant; undefined where the task has none. Throws AcceptanceError where it has several. */
function artifactOf({ artifacts }: Task, artifactId: string | undefined): Artifact | undefined {
  if (artifactId !== undefined) return artifacts.find((one) => one.artifactId === artifactId);
  if (artifacts.length < 2) return artifacts[0];
  throw new AcceptanceError("artifactId", `the task has several, say which: ${artifacts.map((one) => one.artifactId).join(", ")}`);
}

function gapsOf({ gap, task }: Observation, artifact: Artifact | undefined, artifactId: string | undefined): readonly string[] {
  if (gap !== undefined) return [gap];
  if (artifact !== undefined || !isCompleted(task)) return [];
  return [artifactId === undefined ? "the task has no artifact" : `the task has no artifact ${artifactId}`];
}

/** Of a task that shows none any more: the one that was recorded. */
function artifactOnRecord(records: readonly AcceptanceRecord[], taskId: string): string {
  const known = new Set(records.filter((record) => record.taskId === taskId && taskId !== "").map(({ artifactId }) => artifactId));
  known.delete("");
  const [artifactId] = known;
  return known.size === 1 && artifactId !== undefined ? artifactId : "";
}
