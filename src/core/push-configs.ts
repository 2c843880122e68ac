/** Configurations of webhooks: the part of the store's port that keeps them beside their task. */
import { TaskError } from "./errors.ts";

/** A configuration as it is stored; the store never decodes its bytes. */
export interface StoredPushConfig {
  /** Unique within its task. */
  readonly id: string;
  readonly bytes: Uint8Array;
}

/** A configuration to be stored along with another step. */
export interface PushConfigRequest extends StoredPushConfig {
  /** How many configurations the task may have. */
  readonly most: number;
}

/** Keeps the configurations of a task for as long as the task (C-63). */
export interface PushConfigs {
  /** Stores a configuration, in the place of the one with the same id (C-62). Rejects TASK_NOT_FOUND, and {@link tooManyPushConfigs}. */
  setPushConfig(taskId: string, config: PushConfigRequest): Promise<void>;
  /** The configuration; undefined where there is none. */
  pushConfig(taskId: string, id: string): Promise<StoredPushConfig | undefined>;
  /** All of a task, by id. */
  pushConfigs(taskId: string): Promise<readonly StoredPushConfig[]>;
  /** Removes it for good; no effect where it is not there. */
  deletePushConfig(taskId: string, id: string): Promise<void>;
}

/** A task has as many configurations as it may have; nothing was stored. */
export function tooManyPushConfigs(): TaskError {
  return new TaskError("RESOURCE_EXHAUSTED", "the task has as many push configurations as it may have: delete one first");
}

/** Configurations in the order of their ids, compared by code units: the same in every store. */
export function byId(a: StoredPushConfig, b: StoredPushConfig): number {
  if (a.id === b.id) return 0;
  return a.id < b.id ? -1 : 1;
}
