/** An agent that is another A2A agent: its tasks get a log of ours, and all that comes with it. */
import type { AgentCard, Message } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Agent, AgentCardInit, BeginTask, CanceledTask, CardReader, ReplyRequest, Turn } from "../core/agent.ts";
import type { TaskError } from "../core/errors.ts";
import type { AgentEvent } from "../core/events.ts";
import { pause } from "../core/pause.ts";
import { traceHeaders } from "../core/trace-context.ts";
import { A2AError, type A2AClient, type CardInput, type Cut } from "../client/index.ts";
import { knowsRepeats } from "../client/send.ts";
import { callersByCredentials, type TellApart } from "./callers-by-credentials.ts";
import { isAway } from "./failures.ts";
import { lookUp } from "./find-task.ts";
import { type DirectAnswer, FirstWords, firstOf, taskIdOf } from "./first-words.ts";
import { messageDigest, type Speaker, upstreamMessage } from "./own-message.ts";
import { pollTask } from "./poll-task.ts";
import { Reading } from "./reading.ts";
import { refusalOf } from "./refusal.ts";
import { connectUpstream, handedOn, missingExtensions, republished } from "./upstream-card.ts";
import { fromMemo, type UpstreamMemo } from "./upstream-memo.ts";
import { resolveUpstreamOptions, type UpstreamOptions, type UpstreamOptionsInput } from "./upstream-options.ts";
import { UpstreamSight } from "./upstream-sight.ts";
import { UpstreamTurn } from "./upstream-turn.ts";

/** How the client comes back to an upstream that went away: its turn waits longer than that, in rounds. */
const RECONNECT = { attempts: 8, baseMs: 100, maxMs: 5000 };

/** How often an upstream that does not stream is asked. */
const POLL_MS = 1000;

/** What says that there is no extended card for whoever asks. */
const NO_CARD: ReadonlySet<string> = new Set([
  "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
  "UNSUPPORTED_OPERATION",
  "UNAUTHENTICATED",
  "PERMISSION_DENIED",
]);

/** How long an upstream that is away, or has not answered yet, is told of a cancel. */
const CANCEL_MS = 60_000;

/**
 * Puts an A2A agent behind a log: any that speaks A2A 1.0, at the URL of its card, at `host:port`, or with a card that is known. What
 * it streams is stored before it is streamed on; a replica that takes a task over goes on with the upstream's task. Throws A2AError where
 * the upstream cannot be reached. Dispose it after the server that serves it: its upstream tasks go on.
 */
export async function upstreamAgent(upstream: CardInput, given: UpstreamOptionsInput = {}): Promise<UpstreamAgent> {
  const options = resolveUpstreamOptions(given);
  const sight = new UpstreamSight(options.log);
  const reconnect = { ...RECONNECT, ...options.client.reconnect };
  const reconnecting = (cut: Cut): void => {
    sight.cut(cut);
    options.client.reconnecting?.(cut);
  };
  const client = await connectUpstream(upstream, { pollIntervalMs: POLL_MS, ...options.client, reconnect, reconnecting });
  try {
    const card = await client.card();
    const missing = missingExtensions(card, options);
    if (missing.length > 0)
      throw new A2AError(new Error(`the upstream agent requires extensions that are not handed on: ${missing.join(", ")}`));
    return new UpstreamAgent(client, card, options, sight);
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
  /** Where the upstream has one. */
  extendedCard?(reader: CardReader): Promise<AgentCardInit | undefined>;
  readonly client: A2AClient;
  readonly options: UpstreamOptions;
  readonly firstWords: FirstWords;
  readonly sight: UpstreamSight;
  /**
   * For `serve({ authenticate })`, where callers' credentials are handed on and nobody but the upstream judges them: without it all callers
   * would see each other's tasks. Undefined where none are handed on.
   */
  readonly authenticate: TellApart | undefined;
  readonly #life = new AbortController();

  constructor(client: A2AClient, card: AgentCard, options: UpstreamOptions, sight: UpstreamSight) {
    this.client = client;
    this.sight = sight;
    this.card = republished(card, options);
    this.options = options;
    this.acceptsMessages = options.acceptsMessages;
    this.firstWords = new FirstWords(options.firstWordMs);
    const credentials = handedOn(card, options);
    this.authenticate = credentials.length > 0 ? callersByCredentials(credentials) : undefined;
    if (card.capabilities?.extendedAgentCard === true) this.extendedCard = (reader) => this.#extendedCard(reader);
  }

  /** Asks the upstream itself: it may answer with a message, refuse, or begin a task. */
  async reply(request: ReplyRequest): Promise<DirectAnswer | BeginTask | undefined> {
    // The task is stored first, and whatever comes then has its place in it.
    if (this.options.firstWordMs === 0) return undefined;
    const message = await upstreamMessage(request.message, request);
    const { messageId, contextId } = message;
    const asked = { taskId: "", contextId, messageId, message: messageDigest(request.message) };
    const { owner, tenant } = request;
    return this.firstWords.ask(
      { owner, tenant, asked },
      { send: () => this.send(message, request), refuse: (error) => this.refusalOf(error) },
    );
  }

  run(turn: Turn): AsyncIterable<AgentEvent> {
    return new UpstreamTurn(this, turn).events();
  }

  async canceled({ memo, begun, headers, trace, ...whose }: CanceledTask): Promise<void> {
    const upstream = fromMemo(memo);
    if (upstream === undefined) return;
    const reading = this.firstWords.adopt(whose, upstream.message);
    // An upstream that knows repeats has one task for all of them, and it is the one that came to be.
    if (!begun && knowsRepeats(await this.client.card())) return void reading?.close();
    this.cancel(upstream, { headers, trace, extensions: [] }, reading);
  }

  /** The upstream's, as it shows it to the caller where credentials are handed on, else to the front. */
  async #extendedCard(reader: CardReader): Promise<AgentCardInit | undefined> {
    try {
      return republished(await this.client.extendedCard({ headers: this.extrasOf({ ...reader, extensions: [] }).headers }), this.options);
    } catch (error) {
      if (error instanceof A2AError && NO_CARD.has(error.reason)) return undefined;
      throw error;
    }
  }

  /** Sends a message as the upstream is to see it. */
  send(message: Message, call: UpstreamCall): Reading {
    const { metadata, acceptedOutputModes } = call;
    const configuration = { acceptedOutputModes: [...acceptedOutputModes] };
    return new Reading(this.client.send(message, { ...this.extrasOf(call), configuration, ...(metadata && { metadata }) }), this.sight);
  }

  /** Follows the upstream's task to its end, through the states in which it waits. */
  async follow(taskId: string, call: Credentials, { polls }: { readonly polls: boolean }): Promise<Reading> {
    const extras = this.extrasOf(call);
    const card = await this.client.card();
    if (polls || card.capabilities?.streaming !== true) {
      return new Reading(pollTask(this.client, taskId, extras, this.options.client.pollIntervalMs ?? POLL_MS), this.sight);
    }
    return new Reading(this.client.follow(taskId, { ...extras, until: "terminal" }), this.sight);
  }

  /**
   * Asks the upstream to stop, and reads no more. Where its task is not known yet, the first word of the run is waited for, or its task is
   * looked for. An upstream that is away is asked again for a minute; nobody waits for it.
   */
  cancel(upstream: UpstreamMemo, call: Credentials, reading?: Reading): void {
    const { signal } = this.#life;
    const extras = { ...this.extrasOf(call), signal };
    const until = Date.now() + CANCEL_MS;
    const ask = async (): Promise<void> => {
      const word = upstream.taskId === "" && reading !== undefined ? await firstOf(reading, CANCEL_MS) : undefined;
      await reading?.close();
      let taskId = upstream.taskId || taskIdOf(word);
      while (!signal.aborted && Date.now() < until) {
        try {
          taskId ||= (await lookUp({ client: this.client, ...upstream, extras }))?.id ?? "";
          if (taskId !== "") await this.client.cancelTask(taskId, extras);
          return;
        } catch (error) {
          if (!isAway(error)) return;
          await pause(this.options.retryMs, signal);
        }
      }
    };
    // One that cannot be canceled goes on.
    ask().catch(() => undefined);
  }

  /** An upstream's refusal as ours; undefined where it is none of the caller's business. */
  refusalOf(error: unknown): TaskError | undefined {
    return refusalOf(error, { ownCredentials: this.authenticate !== undefined });
  }

  /** What of a call is handed on. */
  extrasOf({ headers, extensions, trace }: Credentials): { headers: Readonly<Record<string, string>>; extensions: readonly string[] } {
    return {
      headers: { ...headers, ...traceHeaders(trace) },
      extensions: extensions.filter((uri) => this.options.extensions.includes(uri)),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort();
    await this.firstWords.close();
    await this.client.close();
  }
}

/** With what a caller is let in, what it has activated, and the trace it is in. */
type Credentials = Pick<Turn, "headers" | "extensions" | "trace">;

/** What a turn and a request for a first word have in common. */
export type UpstreamCall = Speaker & Credentials & Pick<Turn, "metadata" | "acceptedOutputModes">;
