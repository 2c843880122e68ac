/** A ready-made `verifyCard`: a card is taken where one of its signatures is by a key that the caller trusts. */
import { X509Certificate } from "node:crypto";
import type { JsonValue } from "@bufbuild/protobuf";
import { base64url, createRemoteJWKSet, customFetch, decodeProtectedHeader, errors, flattenedVerify, type JWK } from "jose";
import type { AgentCard, AgentCardSignature } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { cardPayloads } from "../rpc/card-payloads.ts";
import { A2AError } from "./a2a-error.ts";

/** Which keys are trusted. A card's own words (`jku`) make none trusted. */
export interface TrustedKeys {
  /** Public keys as JWKs, each with its `kid`. Default: none. */
  readonly keys?: readonly JWK[] | undefined;
  /**
   * URLs of key sets, https (http from this machine only). They are kept for ten minutes, and fetched anew for a key that is not in them,
   * at most every 30 s. Default: none.
   */
  readonly jwksUrls?: readonly string[] | undefined;
  /** How they are fetched. Default: the platform's `fetch`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
}

type RemoteKeys = ReturnType<typeof createRemoteJWKSet>;

/** Signatures with a secret are by anybody who can verify them: they say nothing. */
const ALGORITHMS = ["ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "EdDSA", "Ed25519"];
/** Signatures that are looked at: each may have keys fetched. */
const MAX_SIGNATURES = 16;

/**
 * Makes the option `verifyCard` of a client. What it makes throws A2AError for a card without a signature by a trusted key that is
 * neither expired nor revoked. Throws a TypeError where nothing is trusted, or a URL is no https one.
 */
export function verifyCardSignature(trusted: TrustedKeys): (card: AgentCard, json: JsonValue) => Promise<void> {
  const { keys = [], jwksUrls = [], fetch } = trusted;
  if (keys.length === 0 && jwksUrls.length === 0) throw new TypeError("verifyCardSignature needs keys or jwksUrls: it would trust nobody");
  const remote = new Map(jwksUrls.map((url) => [trustedUrl(url).href, remoteKeys(url, fetch)]));
  return async (card) => {
    const { signatures } = card;
    if (signatures.length === 0) throw distrusted("it has no signature");
    const payloads = cardPayloads(card).map((text) => base64url.encode(text));
    const faults: string[] = [];
    for (const signature of signatures.slice(0, MAX_SIGNATURES)) {
      const fault = await faultOf(signature, payloads, keys, remote);
      if (fault === undefined) return;
      faults.push(fault);
    }
    throw distrusted([...new Set(faults)].join("; "));
  };
}

function distrusted(why: string): A2AError {
  return new A2AError(new Error(`the agent card is not to be trusted: ${why}`));
}

function trustedUrl(text: string): URL {
  const url = URL.parse(text);
  const isLocal = url?.protocol === "http:" && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url === null || !(url.protocol === "https:" || isLocal)) throw new TypeError(`${JSON.stringify(text)} is no https URL of a key set`);
  return url;
}

function remoteKeys(url: string, fetch: TrustedKeys["fetch"]): RemoteKeys {
  return createRemoteJWKSet(new URL(url), fetch === undefined ? {} : { [customFetch]: fetch });
}

type Signature = Parameters<typeof flattenedVerify>[0];

/** Why a signature does not count; undefined where it does. Keys at hand are tried before others are fetched. */
async function faultOf(
  { protected: header, signature }: AgentCardSignature,
  payloads: readonly string[],
  keys: readonly JWK[],
  remote: ReadonlyMap<string, RemoteKeys>,
): Promise<string | undefined> {
  try {
    const { kid, jku } = decodeProtectedHeader({ protected: header });
    if (kid === undefined) return "a signature names no key";
    const signatures = payloads.map((payload) => ({ protected: header, payload, signature }));
    const fault = await faultWith(
      keys.filter((key) => key.kid === kid),
      signatures,
    );
    if (fault === undefined) return undefined;
    const more = await fetched(kid, jku, remote);
    return more.keys.length === 0 ? (more.fault ?? fault) : await faultWith(more.keys, signatures);
  } catch (error) {
    return unjudged(error);
  }
}

/** The same, by the keys of its name. Each is judged for itself: names are given more than once. */
async function faultWith(known: readonly JWK[], signatures: readonly Signature[]): Promise<string | undefined> {
  if (known.length === 0) return "a signature is by a key that is not trusted";
  const good = known.filter(isGood);
  if (good.length === 0) return "a signature is by a key that has expired or was revoked";
  let fault: string | undefined;
  for (const key of good) {
    try {
      for (const signature of signatures) if (await isBy(key, signature)) return undefined;
    } catch (error) {
      fault ??= unjudged(error);
    }
  }
  return fault ?? "a signature does not fit the card";
}

function unjudged(error: unknown): string {
  return `a signature cannot be judged: ${(error as Error).message}`;
}

/** The keys of a name in the sets that a signature may mean: the one that it names, where it names one, else all that can be had. */
async function fetched(
  kid: string,
  jku: unknown,
  remote: ReadonlyMap<string, RemoteKeys>,
): Promise<{ readonly keys: readonly JWK[]; readonly fault: string | undefined }> {
  const named = typeof jku === "string" ? URL.parse(jku)?.href : undefined;
  const sets = jku === undefined ? [...remote.values()] : [named === undefined ? undefined : remote.get(named)];
  const found = await Promise.allSettled(sets.filter((set) => set !== undefined).map((set) => keysOf(set, kid)));
  const failed = found.find((one) => one.status === "rejected");
  return {
    keys: found.flatMap((one) => (one.status === "fulfilled" ? one.value : [])),
    fault: failed && unjudged(failed.reason),
  };
}

async function keysOf(set: RemoteKeys, kid: string): Promise<JWK[]> {
  const find = (): JWK[] => set.jwks()?.keys.filter((key) => key.kid === kid) ?? [];
  if (!set.fresh) await set.reload();
  if (find().length === 0 && !set.coolingDown) await set.reload();
  return find();
}

/** Whether a key may be used now: some say when they expire, or that they were revoked; some come with a certificate, which does. */
function isGood(key: JWK): boolean {
  const { exp, nbf, revoked, use, x5c } = key as JWK & { exp?: unknown; nbf?: unknown; revoked?: unknown };
  const now = Date.now() / 1000;
  if (revoked !== undefined || (use !== undefined && use !== "sig")) return false;
  if ((typeof exp === "number" && exp <= now) || (typeof nbf === "number" && nbf > now)) return false;
  if (x5c?.[0] === undefined) return true;
  try {
    const { validFromDate, validToDate } = new X509Certificate(Buffer.from(x5c[0], "base64"));
    return validFromDate.getTime() <= Date.now() && Date.now() < validToDate.getTime();
  } catch {
    return false;
  }
}

/** A key of another kind than the signature's has not made it. */
async function isBy(key: JWK, jws: Signature): Promise<boolean> {
  try {
    await flattenedVerify(jws, key, { algorithms: ALGORITHMS });
    return true;
  } catch (error) {
    if (error instanceof errors.JOSEError && !(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
    return false;
  }
}
