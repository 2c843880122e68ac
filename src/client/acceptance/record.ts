/** The acceptance record: what was decided about one artifact of one task, and on what grounds (requirements 5.6). */

/**
 * `provisional`: the task is not over, its content may change. `held`: not accepted as it is; the next acceptance looks again. `accepted`:
 * completed, complete, and every criterion met. `rejected`: no delivery, until it is held again.
 */
export type Decision = "provisional" | "held" | "accepted" | "rejected";

/** How a task was observed: read with GetTask; told whole in a reply or a stream; event by event to the end; or by a webhook, then read. */
export type ObservedBy = "get-task" | "snapshot" | "stream" | "push";

/** The interface that the task was observed over. Addresses are without queries: those may be keys. */
export interface RecordedAgent {
  /** As its card says. */
  readonly name: string;
  readonly binding: string;
  readonly url: string;
  readonly tenant: string;
  readonly protocolVersion: string;
}

/** A file that a part refers to. */
export interface RecordedFile {
  readonly url: string;
  readonly filename: string;
  readonly mediaType: string;
  readonly digest: string;
  readonly bytes: number;
}

/** Names what was judged. It says nothing of its quality. */
export interface RecordedContent {
  /** `sha256:` and the digest of the parts as one text: texts, bytes and files as they are, data as a line of canonical JSON (RFC 8785). */
  readonly digest: string;
  readonly bytes: number;
  /** Whether all of it was there, the files included. */
  readonly complete: boolean;
  /** Whether the store has the bytes too. */
  readonly kept: boolean;
  readonly files: readonly RecordedFile[];
}

/** What came of a check. */
export interface CheckResult {
  readonly criterion: string;
  readonly passed: boolean;
  /** Who or what checked. */
  readonly by: string;
  readonly at: string;
  /** What it said; the end of it, where it said much. */
  readonly output: string;
}

/** Something that could not be observed, and who is to see to it (CL-26). */
export interface Gap {
  readonly what: string;
  readonly owner: string;
}

/** A record. It is never changed: what is decided later is another record. Times are those of this computer, in UTC. */
export interface AcceptanceRecord {
  /** Of this form of records. */
  readonly format: 1;
  readonly id: string;
  readonly at: string;
  /** Who decided. */
  readonly by: string;
  readonly decision: Decision;
  readonly reason: string;
  /** Counts the accepted records of a piece of work, from 1; only accepted ones have it. */
  readonly version?: number;
  /** Id of the accepted record that this accepted one replaces. */
  readonly predecessor?: string;
  readonly contextId: string;
  /** Empty where no task was heard of. */
  readonly taskId: string;
  /** Of the message of which no task was heard. */
  readonly messageId?: string;
  /** Empty where there was none. */
  readonly artifactId: string;
  /** The piece of work within its context that successive artifacts are versions of. */
  readonly work: string;
  /** Tasks that this one refines, as its messages name them (CL-24). */
  readonly referenceTaskIds: readonly string[];
  /** Absent where the agent was not reached. */
  readonly agent?: RecordedAgent;
  /** Absent where nothing was observed: then there is a gap. */
  readonly observed?: { readonly by: ObservedBy; readonly state: string; readonly at: string };
  /** Absent where there was nothing to look at, or no need to. */
  readonly content?: RecordedContent;
  readonly criteria: readonly string[];
  readonly checks: readonly CheckResult[];
  readonly gaps: readonly Gap[];
}

/** What is known before it is decided. */
export type RecordDraft = Omit<AcceptanceRecord, "format" | "id" | "at" | "decision" | "reason" | "version" | "predecessor">;
