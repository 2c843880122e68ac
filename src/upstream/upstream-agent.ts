/** An agent that is another A2A agent: its tasks get a log of ours, and all that comes with it. */
import type { Message } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Agent, AgentCardInit, BeginTask, CanceledTask, CardReader, ReplyRequest, Turn } from "../core/agent.ts";
import type { AgentEvent } from "../core/events.ts";
import { A2AError, type A2AClient, type CardInput } from "../client/index.ts";
import { FirstWords } from "./first-words.ts";
import { type ownMessage, type Speaker, upstreamMessage } from "./own-message.ts";
import { Reading } from "./reading.ts";
import { connectUpstream, missingExtensions, republished } from "./upstream-card.ts";
import { fromMemo, type UpstreamMemo } from "./upstream-memo.ts";
import { resolveUpstreamOptions, type UpstreamOptions, type UpstreamOptionsInput } from "./upstream-options.ts";
import { UpstreamTurn } from "./upstream-turn.ts";

/** How the client comes back to an upstream that went away: its turn waits longer than that, in rounds. */
const RECONNECT = { attempts: 8, baseMs: 100, maxMs: 5000 };

/** How often an upstream that does not stream is asked. */
const POLL_MS = 1000;

/**
 * Puts an A2A agent behind a log: any that speaks A2A 1.0, at the URL of its card, at `host:port`, or with a card that is known. What
 * it streams is stored before it is streamed on; a replica that takes a task over goes on with the upstream's task. Throws A2AError where
 * the upstream cannot be reached. Dispose it after the server that serves it: its upstream tasks go on.
 */
export async function upstreamAgent(upstream: CardInput, given: UpstreamOptionsInput = {}): Promise<UpstreamAgent> {
  const options = resolveUpstreamOptions(given);
  const reconnect = { ...RECONNECT, ...options.client.reconnect };
  const client = await connectUpstream(upstream, { pollIntervalMs: POLL_MS, ...options.client, reconnect });
  try {
    const card = await client.card();
    const missing = missingExtensions(card, options);
    if (missing.length > 0)
      throw new A2AError(new Error(`the upstream agent requires extensions that are not handed on: ${missing.join(", ")}`));
    return new UpstreamAgent(client, republished(card, options), options);
  } catch (error) {
    await client.close();
    throw error;
  }
}

/** The front of an upstream agent. */
export class UpstreamAgent implements Agent, AsyncDisposable {
  readonly card: AgentCardInit;
  readonly resumable = true;
  readonly acceptsMessages: boolean;
  readonly client: A2AClient;
  readonly options: UpstreamOptions;
  readonly firstWords: FirstWords;

  constructor(client: A2AClient, card: AgentCardInit, options: UpstreamOptions) {
    this.client = client;
    this.card = card;
    this.options = options;
    this.acceptsMessages = options.acceptsMessages;
    this.firstWords = new FirstWords(options.firstWordMs);
  }

  /** Asks the upstream itself: it may answer with a message, refuse, or begin a task. */
  reply(request: ReplyRequest): Promise<ReturnType<typeof ownMessage> | BeginTask> {
    return this.firstWords.ask(request, () => this.send(request));
  }

  run(turn: Turn): AsyncIterable<AgentEvent> {
    return new UpstreamTurn(this, turn).events();
  }

  async canceled({ memo, headers }: CanceledTask): Promise<void> {
    const upstream = fromMemo(memo);
    if (upstream !== undefined && upstream.taskId !== "") await this.client.cancelTask(upstream.taskId, { headers });
  }

  async extendedCard(_reader: CardReader): Promise<AgentCardInit | undefined> {
    const card = await this.client.card();
    if (card.capabilities?.extendedAgentCard !== true) return undefined;
    return republished(await this.client.extendedCard(), this.options);
  }

  /** Sends a message of a caller, on the upstream's task where it goes on with one. */
  async send(call: UpstreamCall, on?: UpstreamMemo): Promise<Reading> {
    const { metadata, acceptedOutputModes } = call;
    const message = await upstreamMessage(call.message, call, on);
    const configuration = { acceptedOutputModes: [...acceptedOutputModes] };
    return new Reading(this.client.send(message, { ...this.extrasOf(call), configuration, ...(metadata && { metadata }) }));
  }

  /** Follows the upstream's task to its end, through the states in which it waits. */
  follow(taskId: string, call: Pick<UpstreamCall, "headers" | "extensions">): Reading {
    return new Reading(this.client.follow(taskId, { ...this.extrasOf(call), until: "terminal" }));
  }

  /** What of a call is handed on. */
  extrasOf({ headers, extensions }: Pick<UpstreamCall, "headers" | "extensions">): {
    headers: Readonly<Record<string, string>>;
    extensions: readonly string[];
  } {
    return { headers, extensions: extensions.filter((uri) => this.options.extensions.includes(uri)) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.firstWords.close();
    await this.client.close();
  }
}

/** What a turn and a request for a first word have in common. */
export type UpstreamCall = Speaker &
  Pick<Turn, "metadata" | "acceptedOutputModes" | "extensions" | "headers"> & {
    readonly message: Message;
  };
