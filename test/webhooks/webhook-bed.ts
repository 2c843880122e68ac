/** A server with callers on every surface, and a receiver of webhooks. */
import type { ServeInit } from "../../src/server/serve.ts";
import { type Bed, openBed, startTask } from "../bindings/bed.ts";
import type { ScenarioAgent } from "../bindings/scenario-agent.ts";
import { Receiver } from "./receiver.ts";

/** Receivers on this machine, tried again soon. */
export const PUSH = { enabled: true, allow: ["127.0.0.0/8"], retryBaseMs: 5, retryMaxMs: 20 };

/** Both, and what tests do with them. */
export interface WebhookBed extends AsyncDisposable {
  readonly bed: Bed;
  readonly agent: ScenarioAgent;
  readonly receiver: Receiver;
  /** Begins a task with the webhook `w`; answers its id. */
  begin(text: string, config?: Readonly<Record<string, unknown>>): Promise<string>;
  /** Registers the webhook `w` again. */
  replace(taskId: string, config: Readonly<Record<string, unknown>>): Promise<void>;
  /** How far the webhook `w` is, as its header says. */
  state(taskId: string): Promise<string>;
  /** Asks until the webhook is in that state. */
  untilState(taskId: string, state: string): Promise<string>;
}

/** Opens them. */
export async function openWebhooks(init: Partial<ServeInit> = {}): Promise<WebhookBed> {
  await using opened = new AsyncDisposableStack();
  const receiver = opened.use(await Receiver.open());
  const bed = opened.use(await openBed({ ...init, push: { ...PUSH, ...init.push } }));
  const stack = opened.move();
  const { rest, agent } = bed;
  const state = async (taskId: string): Promise<string> =>
    (await rest.unary("GetTaskPushNotificationConfig", { taskId, id: "w" })).headers.get("throughline-delivery") ?? "";
  return {
    bed,
    agent,
    receiver,
    state,
    begin: (text, config) => {
      const taskPushNotificationConfig = { id: "w", url: receiver.url(), ...config };
      return startTask(rest, text, { configuration: { returnImmediately: true, taskPushNotificationConfig } });
    },
    async replace(taskId, config) {
      await rest.unary("CreateTaskPushNotificationConfig", { taskId, id: "w", url: receiver.url(), ...config });
    },
    async untilState(taskId, wanted) {
      for (;;) {
        const now = await state(taskId);
        if (now.startsWith(`state=${wanted}`)) return now;
      }
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
