/** The webhooks of a run: receivers on one port, each under an address of its own, with manners that are drawn. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { fromJsonString } from "@bufbuild/protobuf";
import { StreamResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Notified } from "../webhooks/acknowledgements.ts";
import type { Random } from "./random.ts";
import { DECK, type Kept, MANNERS } from "./webhook-manners.ts";
import type { Said, Told } from "./webhook-thread.ts";

/** One webhook, and what had come to it when that was last asked. */
export class Hook {
  readonly id: string;
  readonly url: string;
  readonly manner: string;
  requests: readonly (Notified & { readonly at: number })[] = [];
  taskId = "";
  /** When its registration was answered, where it came after its task; undefined: with the send. */
  registeredAt: number | undefined;

  constructor(id: string, url: string, manner: string) {
    this.id = id;
    this.url = url;
    this.manner = manner;
  }

  /** Whether it acknowledges what comes, sooner or later. */
  get answers(): boolean {
    return MANNERS[this.manner]?.answers ?? false;
  }
}

/** All of a run. */
export class Hooks implements AsyncDisposable {
  readonly #thread: Worker;
  readonly #port: number;
  readonly #seed: string;
  readonly #hooks = new Map<string, Hook>();

  private constructor(thread: Worker, port: number, seed: string) {
    this.#thread = thread;
    this.#port = port;
    this.#seed = seed;
  }

  /** Opens the port, in a thread of its own. */
  static async open(seed: string): Promise<Hooks> {
    const thread = new Worker(new URL("webhook-thread.ts", import.meta.url));
    const [said] = (await once(thread, "message")) as [Extract<Said, { port: number }>];
    return new Hooks(thread, said.port, seed);
  }

  /** Those that a task has. */
  get attached(): readonly Hook[] {
    return [...this.#hooks.values()].filter(({ taskId }) => taskId !== "");
  }

  /** A new one. Its address is its own: to replicas it is another host. */
  draw(random: Random): Hook {
    const id = random.uuid();
    const number = this.#hooks.size + 1;
    const hook = new Hook(id, `http://127.1.${number >> 8}.${number & 255}:${this.#port}/${id}`, random.pick(DECK));
    this.#hooks.set(id, hook);
    const told: Told = { open: id, manner: hook.manner, seed: `${this.#seed}/${id}` };
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
    this.#thread.postMessage(told);
    return hook;
  }

  /** Learns what has come to all of them. */
  async look(): Promise<void> {
    const tell: Told = "tell";
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
    this.#thread.postMessage(tell);
    const [{ kept }] = (await once(this.#thread, "message")) as [Extract<Said, { kept: unknown }>];
    for (const [id, hook] of this.#hooks) hook.requests = (kept.get(id) ?? []).map(read);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread.terminate();
  }
}

function read({ body, ...kept }: Kept): Notified & { readonly at: number } {
  return { ...kept, event: fromJsonString(StreamResponseSchema, body) };
}
