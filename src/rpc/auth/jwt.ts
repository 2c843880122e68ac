/** Bearer tokens that are JWTs of issuers whom the server trusts (RFC 7519, 8725, 9068). */
import type { JsonObject } from "@bufbuild/protobuf";
import { decodeJwt, errors, type JWTPayload, jwtVerify, type JWTVerifyOptions } from "jose";
import type { Principal } from "./authenticate.ts";
import type { Judgement, Refusal, SchemeDeclaration } from "./auth-scheme.ts";
import type { TokenReader } from "./bearer.ts";
import type { IssuerKeys } from "./issuer-keys.ts";
import { TokenCache } from "./token-cache.ts";

/** What is taken from an issuer, and how its tokens are read. A claim is named, or its path is: `realm_access.roles`. */
export interface JwtIssuer {
  /** `iss` of its tokens. */
  readonly issuer: string;
  /** One of these is to stand in `aud`. */
  readonly audience: readonly string[];
  /** Taken algorithms; `none` is never one. */
  readonly algorithms: readonly string[];
  readonly clockSkewSeconds: number;
  /** `typ` that the header of its tokens is to have. Default: any. */
  readonly type?: string | undefined;
  readonly keys: Pick<IssuerKeys, "find">;
  /** The claim that names the principal, and what is put before it. */
  readonly principalClaim: string;
  readonly prefix: string;
  /** The claim with the scopes, a list or words. Default: `scope`, and `scp` where there is none. */
  readonly scopesClaim?: string | undefined;
  /** The claim with the tenants. Default: tokens say nothing of tenants. */
  readonly tenantsClaim?: string | undefined;
  /** Claims that the agent is shown. */
  readonly claims: readonly string[];
  /** What the card says of its tokens. */
  readonly declared: Readonly<Record<string, SchemeDeclaration>>;
}

/** Longest name of a principal: it is part of every key of its tasks. */
const MAX_NAME = 256;
/** A name that stands for callers without credentials. */
const NOBODY = "anonymous";

/** Knows the tokens of some issuers. A token is verified once in five minutes, however many calls bring it. */
export class Jwts implements TokenReader {
  readonly declared: TokenReader["declared"];
  readonly #issuers: ReadonlyMap<string, JwtIssuer>;
  readonly #cache = new TokenCache();

  constructor(issuers: readonly JwtIssuer[]) {
    this.#issuers = new Map(issuers.map((issuer) => [issuer.issuer, issuer]));
    this.declared = Object.assign({}, ...issuers.map(({ declared }) => declared)) as TokenReader["declared"];
  }

  async read(token: string): Promise<Judgement | undefined> {
    const cached = this.#cache.get(token);
    if (cached !== undefined) return cached;
    const issuer = this.#issuers.get(issuerOf(token) ?? "");
    if (issuer === undefined) return undefined;
    try {
      const payload = await verified(token, issuer);
      const judged = principalOf(payload, issuer);
      if (!("refused" in judged)) this.#cache.set(token, judged, ((payload.exp ?? 0) + issuer.clockSkewSeconds) * 1000);
      return judged;
    } catch (error) {
      if (error instanceof errors.JOSEError) return { refused: whyRefused(error) };
      throw error;
    }
  }
}

/** Who a token says that it is of, before anything of it was verified. */
function issuerOf(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

async function verified(token: string, issuer: JwtIssuer): Promise<JWTPayload> {
  const options: JWTVerifyOptions = {
    issuer: issuer.issuer,
    audience: [...issuer.audience],
    algorithms: [...issuer.algorithms],
    clockTolerance: issuer.clockSkewSeconds,
    requiredClaims: ["exp"],
    ...(issuer.type !== undefined && { typ: issuer.type }),
  };
  try {
    return (await jwtVerify(token, issuer.keys.find, options)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    // It does not say which key it is signed with.
    for await (const key of error) {
      try {
        return (await jwtVerify(token, key, options)).payload;
      } catch (inner) {
        if (!(inner instanceof errors.JWSSignatureVerificationFailed)) throw inner;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

function principalOf(payload: JWTPayload, issuer: JwtIssuer): Principal | Refusal {
  const name = claimOf(payload, issuer.principalClaim);
  if (typeof name !== "string" || name === "") return { refused: `the token names no caller in ${issuer.principalClaim}` };
  const full = issuer.prefix + name;
  if (full === NOBODY || full.length > MAX_NAME) return { refused: `what the token has in ${issuer.principalClaim} can be no caller here` };
  const scopes = wordsOf(issuer.scopesClaim === undefined ? (payload["scope"] ?? payload["scp"]) : claimOf(payload, issuer.scopesClaim));
  const shown = issuer.claims.map((claim) => [claim, claimOf(payload, claim)] as const).filter(([, value]) => value !== undefined);
  const principal = { name: full, scopes, claims: Object.fromEntries(shown) as JsonObject };
  if (issuer.tenantsClaim === undefined) return principal;
  const tenants = wordsOf(claimOf(payload, issuer.tenantsClaim));
  return tenants.length === 0 ? { refused: `the token names no tenant in ${issuer.tenantsClaim}` } : { ...principal, tenants };
}

/** A claim by its name, or by its path where there is none of that name. */
function claimOf(payload: JWTPayload, name: string): unknown {
  if (Object.hasOwn(payload, name)) return payload[name];
  let value: unknown = payload;
  for (const step of name.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

/** A list of words, or words in one text. */
function wordsOf(claim: unknown): string[] {
  if (typeof claim === "string") return claim.split(" ").filter((word) => word !== "");
  return Array.isArray(claim) ? claim.filter((word) => typeof word === "string") : [];
}

/** What was wrong, in words of our own: nothing that the token holds. */
function whyRefused(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return "the token has expired";
  if (error instanceof errors.JWTClaimValidationFailed)
    return WRONG_CLAIMS[error.claim] ?? `the token's ${error.claim} is missing or wrong`;
  if (error instanceof errors.JOSEAlgNotAllowed) return "the token is signed in a way that this server does not take";
  if (error instanceof errors.JWKSNoMatchingKey) return "the token is signed with a key that its issuer does not have";
  if (error instanceof errors.JWSSignatureVerificationFailed) return "the token's signature is not right";
  return "the token cannot be read";
}

const WRONG_CLAIMS: Readonly<Record<string, string>> = {
  aud: "the token is for another audience",
  nbf: "the token is not good yet",
};
