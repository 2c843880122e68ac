/** The keys of a token issuer: found by OpenID discovery or at a URL, fetched when they are needed, kept while the issuer is away. */
import { createLocalJWKSet, createRemoteJWKSet, customFetch, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import { TaskError } from "../../core/errors.ts";

/** Where an issuer's keys are. */
export interface IssuerKeysOptions {
  readonly issuer: string;
  /** Of the key set. Default: what the issuer's discovery document says. */
  readonly jwksUrl?: string | undefined;
  /** The keys themselves; nothing is fetched then. Default: none. */
  readonly jwks?: JSONWebKeySet | undefined;
  /** The secret that its tokens are signed with, for algorithms of HMAC; there are no other keys then. Default: none. */
  readonly secret?: string | undefined;
  /** A token with a key that is not known has the keys fetched anew, at most once in this time; an issuer that is away is asked again as soon. Default 30 s, and 2 s. */
  readonly coolDownMs?: number | undefined;
  /** Told when keys could not be fetched, and old ones go on being used or there are none. Default: nobody. */
  readonly warn?: ((error: unknown, message: string) => void) | undefined;
}

const COOL_DOWN_MS = 30_000;
/** Keys are looked after in this time, in the background: keys that were withdrawn are not taken for much longer. */
const FRESH_MS = 10 * 60_000;
/** An issuer that could not be reached is left alone for so long. */
const AWAY_MS = 2000;
const FETCH_MS = 5000;
/** Time between two warnings. */
const WARN_MS = 60_000;

/** What the search for a key ends with where the keys are at hand. */
const TOKENS_FAULT = [errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys, errors.JOSENotSupported];

type RemoteKeys = ReturnType<typeof createRemoteJWKSet>;

/** One issuer's keys. */
export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  /** Where nothing has to be fetched. */
  readonly #local: JWTVerifyGetKey | undefined;
  #remote: RemoteKeys | undefined;
  #opening: Promise<RemoteKeys> | undefined;
  /** When the keys are next looked after. */
  #staleAt = 0;
  #warnAt = 0;
  #away: { readonly until: number; readonly error: unknown } | undefined;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
    const { jwks, secret } = options;
    if (secret !== undefined) this.#local = () => new TextEncoder().encode(secret);
    else if (jwks !== undefined) this.#local = createLocalJWKSet(jwks);
  }

  /** The key of a token, for jose's verification. Throws IDENTITY_UNAVAILABLE where it would have to be fetched and cannot. */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    if (this.#local !== undefined) return this.#local(header, token);
    try {
      this.#remote ??= await this.#open();
      this.#lookAfter(this.#remote);
      return await this.#remote(header, token);
    } catch (error) {
      if (TOKENS_FAULT.some((fault) => error instanceof fault)) throw error;
      this.#failed(error, "the keys of an issuer cannot be fetched: its callers are told to come back");
      throw unavailable(error);
    }
  };

  /** Fetches the keys, so that the first call need not wait. Never throws: who needs them then is told. */
  async prefetch(): Promise<void> {
    if (this.#local !== undefined) return;
    try {
      this.#remote ??= await this.#open();
      await this.#remote.reload();
      this.#staleAt = Date.now() + FRESH_MS;
    } catch (error) {
      this.#failed(error, "the keys of an issuer cannot be fetched yet");
    }
  }

  /** Fetches keys anew that are old, in the background: an issuer that is away is not missed before it has a new key. */
  #lookAfter(remote: RemoteKeys): void {
    if (remote.jwks() === undefined || Date.now() < this.#staleAt) return;
    this.#staleAt = Date.now() + FRESH_MS;
    remote.reload().catch((error: unknown) => {
      this.#staleAt = Date.now() + COOL_DOWN_MS;
      this.#failed(error, "the keys of an issuer cannot be fetched: the ones at hand are used");
    });
  }

  async #open(): Promise<RemoteKeys> {
    this.#opening ??= this.#locate().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #locate(): Promise<RemoteKeys> {
    const url = new URL(this.#options.jwksUrl ?? (await this.#discover()));
    // What is old is looked after here, and not thrown away before there is something new.
    return createRemoteJWKSet(url, {
      cacheMaxAge: Infinity,
      cooldownDuration: this.#options.coolDownMs ?? COOL_DOWN_MS,
      timeoutDuration: FETCH_MS,
      [customFetch]: (target: string, init: RequestInit) => this.#fetch(target, init),
    });
  }

  /** Reads the discovery document (OpenID Connect Discovery 1.0, 4). */
  async #discover(): Promise<string> {
    const { issuer } = this.#options;
    const reply = await this.#fetch(discoveryUrl(issuer), {
      signal: AbortSignal.timeout(FETCH_MS),
      redirect: "manual",
      headers: { accept: "application/json" },
    });
    if (reply.status !== 200) throw new Error(`discovery is answered with HTTP ${reply.status}`);
    const document = (await reply.json()) as { issuer?: unknown; jwks_uri?: unknown };
    if (document.issuer !== issuer) throw new Error(`the document of ${issuer} says that it is of another issuer`);
    const url = typeof document.jwks_uri === "string" ? URL.parse(document.jwks_uri) : null;
    if (url === null || (url.protocol !== "https:" && new URL(issuer).protocol === "https:"))
      throw new Error(`the document of ${issuer} names no https URL of its keys`);
    return url.href;
  }

  async #fetch(url: string, init: RequestInit): Promise<Response> {
    if (this.#away !== undefined && Date.now() < this.#away.until) throw this.#away.error;
    return fetch(url, init);
  }

  /** Leaves the issuer alone for a while, and tells of it now and then: every call may come here. */
  #failed(error: unknown, message: string): void {
    const now = Date.now();
    if (this.#away === undefined || now >= this.#away.until)
      this.#away = { until: now + Math.min(AWAY_MS, this.#options.coolDownMs ?? AWAY_MS), error };
    if (now < this.#warnAt) return;
    this.#warnAt = now + WARN_MS;
    this.#options.warn?.(error, `${this.#options.issuer}: ${message}`);
  }
}

/** Where an issuer has its discovery document. */
export function discoveryUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
}

function unavailable(cause: unknown): TaskError {
  return new TaskError("IDENTITY_UNAVAILABLE", "whoever vouches for callers cannot be asked right now", { retryAfterMs: AWAY_MS, cause });
}
