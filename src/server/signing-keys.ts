/** The private keys of a server, read once, and the set in which their public halves are published. */
import { createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject } from "node:crypto";
import { readFile } from "node:fs/promises";
import { calculateJwkThumbprint, exportJWK, FlattenedSign, type JSONWebKeySet, type JWK, type JWTPayload, SignJWT } from "jose";
import { OptionsError } from "./options.ts";

/** One key. */
interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly key: KeyObject;
  readonly published: JWK;
}

/** A signature that stands beside what it is over. */
export interface DetachedSignature {
  /** The protected header, and the signature, in base64url. */
  readonly protected: string;
  readonly signature: string;
}

/** Signs with all its keys, or with the first. */
export class SigningKeys {
  readonly #keys: readonly [SigningKey, ...SigningKey[]];

  /** Reads the files; undefined where there are none. Throws {@link OptionsError} where one holds no key that can sign. */
  static async open(files: readonly string[]): Promise<SigningKeys | undefined> {
    const [first, ...more] = await Promise.all(files.map(readKey));
    return first === undefined ? undefined : new SigningKeys([first, ...more]);
  }

  private constructor(keys: readonly [SigningKey, ...SigningKey[]]) {
    this.#keys = keys;
  }

  /** The public keys, for whoever verifies. */
  get published(): JSONWebKeySet {
    return { keys: this.#keys.map(({ published }) => published) };
  }

  /** A signature by each key. `jku`: where {@link published} can be had. */
  signDetached(payload: string, jku: string | undefined): Promise<DetachedSignature[]> {
    return Promise.all(
      this.#keys.map(async ({ key, alg, kid }) => {
        const header = { alg, typ: "JOSE", kid, ...(jku !== undefined && { jku }) };
        const jws = await new FlattenedSign(new TextEncoder().encode(payload)).setProtectedHeader(header).sign(key);
        return { protected: jws.protected ?? "", signature: jws.signature };
      }),
    );
  }

  /** A JWT by the first key. */
  signJwt(claims: JWTPayload): Promise<string> {
    const [{ key, alg, kid }] = this.#keys;
    return new SignJWT(claims).setProtectedHeader({ alg, kid, typ: "JWT" }).sign(key);
  }
}

async function readKey(file: string): Promise<SigningKey> {
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new OptionsError(`signing.keys: cannot read ${file}`, { cause });
  });
  const { key, named } = parseKey(text, file);
  const alg = named.alg ?? algorithmOf(key);
  if (alg === undefined) throw new OptionsError(`signing.keys: the key in ${file} is none of EC, RSA of 2048 bits and Ed25519`);
  const published = await exportJWK(createPublicKey(key));
  const kid = named.kid ?? (await calculateJwkThumbprint(published));
  return { kid, alg, key, published: { ...published, kid, alg, use: "sig" } };
}

function parseKey(text: string, file: string): { readonly key: KeyObject; readonly named: { kid?: string; alg?: string } } {
  try {
    if (!text.trimStart().startsWith("{")) return { key: createPrivateKey(text), named: {} };
    const jwk = JSON.parse(text) as JsonWebKey & { kid?: string; alg?: string };
    return { key: createPrivateKey({ key: jwk, format: "jwk" }), named: jwk };
  } catch (cause) {
    throw new OptionsError(`signing.keys: ${file} holds no private key in PEM or as JWK`, { cause });
  }
}

const CURVES: Readonly<Record<string, string>> = { prime256v1: "ES256", secp384r1: "ES384", secp521r1: "ES512" };

/** How a key signs where it does not say. */
function algorithmOf({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): string | undefined {
  if (type === "ed25519") return "EdDSA";
  if (type === "ec") return CURVES[details?.namedCurve ?? ""];
  return type === "rsa" && (details?.modulusLength ?? 0) >= 2048 ? "RS256" : undefined;
}
