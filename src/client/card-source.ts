/** Where a client's card comes from, and how long it is good for. */
import { fromJson, type JsonValue, type MessageInitShape, create } from "@bufbuild/protobuf";
import { Agent, request } from "undici";
import { type AgentCard, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AError } from "./a2a-error.ts";
import type { ClientOptions } from "./client-options.ts";
import { unlessAborted } from "./pause.ts";

/** An agent: its base URL, the URL of its card, or the card itself. */
export type CardInput = string | URL | MessageInitShape<typeof AgentCardSchema>;

const WELL_KNOWN = "/.well-known/agent-card.json";
/** Where versions before 0.3 had it. */
const OLD_WELL_KNOWN = "/.well-known/agent.json";
/** How long a card is good for whose server does not say. */
const DEFAULT_AGE_MS = 5 * 60 * 1000;
const MAX_CARD_BYTES = 4 * 1024 * 1024;

interface Held {
  readonly url: string;
  readonly card: AgentCard;
  readonly etag: string | undefined;
  readonly lastModified: string | undefined;
  freshUntil: number;
}

/** One agent's card. */
export class CardSource {
  readonly #candidates: readonly string[];
  readonly #options: ClientOptions;
  readonly #agent: Agent;
  #held: Held | undefined;
  #fetching: Promise<AgentCard> | undefined;
  readonly #given: AgentCard | undefined;

  constructor(input: CardInput, options: ClientOptions) {
    this.#options = options;
    const { ca, cert, key, serverName } = options.tls;
    const tls = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }), ...(serverName && { servername: serverName }) };
    this.#agent = new Agent({ connect: { ...tls, timeout: options.connectTimeoutMs }, maxResponseSize: MAX_CARD_BYTES });
    const named = typeof input === "string" || input instanceof URL;
    this.#candidates = named ? candidatesOf(new URL(input)) : [];
    if (!named) this.#given = create(AgentCardSchema, input);
  }

  /** Whether the card came over TLS; undefined where it was given. */
  get isSecure(): boolean | undefined {
    const [url] = this.#held === undefined ? this.#candidates : [this.#held.url];
    return url?.startsWith("https:");
  }

  /**
   * The card: the one at hand while it is fresh, else looked after. One that cannot be looked after is used as it is. All who ask meanwhile wait
   * for the same answer, and none of them ends it; each stops waiting with its signal, whose reason is thrown.
   */
  card(signal: AbortSignal): Promise<AgentCard> {
    if (this.#given !== undefined) return Promise.resolve(this.#given);
    if (this.#held !== undefined && Date.now() < this.#held.freshUntil) return Promise.resolve(this.#held.card);
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    return unlessAborted(this.#fetching, signal);
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #fetch(): Promise<AgentCard> {
    const held = this.#held;
    if (held !== undefined) {
      try {
        return (await this.#read(held.url)) ?? held.card;
      } catch {
        held.freshUntil = Date.now() + DEFAULT_AGE_MS / 10;
        return held.card;
      }
    }
    for (const url of this.#candidates) {
      const card = await this.#read(url);
      if (card !== undefined) return card;
    }
    throw new A2AError(new Error(`no agent card at ${this.#candidates.join(", ")}`));
  }

  /** The card at a URL; undefined where there is none (404), or none of its age. */
  async #read(url: string): Promise<AgentCard | undefined> {
    const held = this.#held;
    const headers: Record<string, string> = { accept: "application/json", ...this.#options.headers };
    Object.assign(headers, await this.#options.credentials?.({ refresh: false, card: undefined }));
    if (held?.etag !== undefined) headers["if-none-match"] = held.etag;
    if (held?.lastModified !== undefined) headers["if-modified-since"] = held.lastModified;
    const signal = AbortSignal.timeout(this.#options.timeoutMs);
    const reply = await request(url, { dispatcher: this.#agent, headers, signal }).catch((cause: unknown) => {
      throw new A2AError(new Error(`cannot fetch the agent card at ${url}: ${(cause as Error).message}`, { cause }));
    });
    const text = await reply.body.text();
    if (held !== undefined && reply.statusCode === 304) {
      held.freshUntil = freshUntil(reply.headers);
      return held.card;
    }
    if (reply.statusCode === 404 || reply.statusCode === 410) return undefined;
    if (reply.statusCode !== 200) throw new A2AError(new Error(`the agent card at ${url} is answered with HTTP ${reply.statusCode}`));
    const card = await this.#parse(url, text);
    const [etag, lastModified] = [reply.headers["etag"], reply.headers["last-modified"]].map((value) =>
      typeof value === "string" ? value : undefined,
    );
    this.#held = { url, card, etag, lastModified, freshUntil: freshUntil(reply.headers) };
    return card;
  }

  async #parse(url: string, text: string): Promise<AgentCard> {
    let json: JsonValue;
    let card: AgentCard;
    try {
      json = JSON.parse(text) as JsonValue;
      card = fromJson(AgentCardSchema, json, { ignoreUnknownFields: true });
    } catch (cause) {
      throw new A2AError(new Error(`what is at ${url} is no agent card`, { cause }));
    }
    await this.#options.verifyCard?.(card, json);
    return card;
  }
}

/** Where a card may be: the URL itself if it names a file; else below its path, then at its host; then where old versions had it. */
function candidatesOf(url: URL): readonly string[] {
  if (url.pathname.endsWith(".json")) return [url.href];
  const base = `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
  const bases = [...new Set([base, url.origin])];
  return [...bases.map((one) => `${one}${WELL_KNOWN}`), ...bases.map((one) => `${one}${OLD_WELL_KNOWN}`)];
}

function freshUntil(headers: Readonly<Record<string, string | string[] | undefined>>): number {
  const control = String(headers["cache-control"] ?? "");
  if (/\bno-(cache|store)\b/.test(control)) return 0;
  const age = /\bmax-age=(\d+)/.exec(control)?.[1];
  return Date.now() + (age === undefined ? DEFAULT_AGE_MS : Number(age) * 1000 - Number(headers["age"] ?? 0) * 1000);
}
