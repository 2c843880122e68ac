/** What tests read of tasks. */
import assert from "node:assert/strict";
import { type Message, type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { A2AClient } from "../../src/client/index.ts";
import { isTask } from "../../src/client/task-view.ts";

/** The reply, which is a task. */
export function asTask(reply: Task | Message): Task {
  assert.ok(isTask(reply), "it is a task");
  return reply;
}

/** All texts of its artifacts, part by part. */
export function texts(task: Task): string[] {
  return task.artifacts.flatMap(({ parts }) => parts.map(({ content }) => (content.case === "text" ? content.value : "")));
}

/** The name of its state. */
export function stateName(task: Task): string {
  return Object.entries(TaskState).find(([, state]) => state === task.status?.state)?.[0] ?? "";
}

/** What its status says. */
export function said(task: Task): string {
  return (task.status?.message?.parts ?? []).map(({ content }) => (content.case === "text" ? content.value : "")).join("");
}

/** Begins a task and answers its id as soon as it exists. */
export async function begin(client: A2AClient, text: string, contextId = ""): Promise<string> {
  await using run = client.send(text, { wait: "poll", ...(contextId && { contextId }) });
  for await (const { task } of run) if (task !== undefined) return task.id;
  return assert.fail("no task began");
}

/** Reads the task until it satisfies `seen`. */
export async function seen(client: A2AClient, id: string, satisfies: (task: Task) => boolean): Promise<Task> {
  const run = client.follow(id, { until: "terminal" });
  try {
    for await (const { task } of run) if (task !== undefined && satisfies(task)) return task;
    return assert.fail("it has ended otherwise");
  } finally {
    await run.close();
  }
}
