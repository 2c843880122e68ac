/** Signatures of notifications: that one is from the agent, for this receiver, new, and about this very body. */
import { createHash } from "node:crypto";
import { createLocalJWKSet, createRemoteJWKSet, type JWK, type JWTPayload, jwtVerify, type JWTVerifyGetKey } from "jose";
import { BODY_CLAIM } from "../../core/task-notification.ts";

/** Whose signatures are wanted. */
export interface NotificationJwt {
  /** The `iss` claim: for a server of this project its public HTTP URL. */
  readonly issuer: string;
  /** Its public keys. Default: those at `jwksUrl`. */
  readonly keys?: readonly JWK[];
  /** Where they are published. Default: `/.well-known/jwks.json` below the issuer. */
  readonly jwksUrl?: string;
  /** The `aud` claim. Default: the origin of the receiver's URL. */
  readonly audience?: string;
}

/** Signatures with a secret are by anybody who can verify them: they say nothing. */
const ALGORITHMS = ["ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "EdDSA", "Ed25519"];

/** Verifies. */
export class JwtCheck {
  readonly #keys: JWTVerifyGetKey;
  readonly #issuer: string;
  readonly #audience: string;
  readonly #toleranceSeconds: number;

  constructor({ issuer, keys, jwksUrl, audience }: NotificationJwt, origin: string, toleranceSeconds: number) {
    const url = new URL(jwksUrl ?? `${issuer.replace(/\/$/, "")}/.well-known/jwks.json`);
    this.#keys = keys === undefined ? createRemoteJWKSet(url) : createLocalJWKSet({ keys: [...keys] });
    this.#issuer = issuer;
    this.#audience = audience ?? origin;
    this.#toleranceSeconds = toleranceSeconds;
  }

  /** The claims of a good one. Rejects with an error of jose for a bad one, and with whatever fetching the keys fails with. */
  async claimsOf(token: string): Promise<JWTPayload> {
    const { payload } = await jwtVerify(token, this.#keys, {
      issuer: this.#issuer,
      audience: this.#audience,
      algorithms: ALGORITHMS,
      requiredClaims: ["iat", "exp", "jti"],
      clockTolerance: this.#toleranceSeconds,
      maxTokenAge: this.#toleranceSeconds,
    });
    return payload;
  }
}

/** Whether the claims are about this body. A signature that names no body is about any. */
export function isAbout({ [BODY_CLAIM]: digest }: JWTPayload, body: Uint8Array): boolean {
  return digest === undefined || digest === createHash("sha256").update(body).digest("hex");
}
