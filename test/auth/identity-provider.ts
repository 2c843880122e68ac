/** An issuer of tokens for tests: OpenID discovery and a key set over real HTTP, keys that come and go. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";

type PrivateKey = Awaited<ReturnType<typeof generateKeyPair>>["privateKey"];

interface IssuerKey {
  readonly alg: string;
  readonly privateKey: PrivateKey;
  readonly published: JWK;
}

/** What differs from a token that is good. */
export interface TokenOptions {
  /** Key to sign with. Default: the newest. */
  readonly kid?: string;
  /** Members of the header, undefined leaves one out. */
  readonly header?: Readonly<Record<string, string | undefined>>;
  /** Seconds from now. Default 300. */
  readonly expiresIn?: number | undefined;
}

/** Audience that servers of the tests want. */
export const AUDIENCE = "https://agent.test";

/** One issuer. Disposing it takes it down. */
export class IdentityProvider implements AsyncDisposable {
  readonly #server = createServer((request, response) => this.#answer(request, response));
  readonly #keys = new Map<string, IssuerKey>();
  /** Names of the keys in the set, as it is served. */
  readonly published = new Set<string>();
  /** Paths that were asked for. */
  readonly asked: string[] = [];
  /** What it answers with instead, while set: a status, or a text in the place of the discovery document. */
  fault: { readonly status?: number; readonly discovery?: object } | undefined;
  #newest = "";

  static async open(): Promise<IdentityProvider> {
    const provider = new IdentityProvider();
    await provider.addKey("k1", "ES256");
    await provider.listen();
    return provider;
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get jwksUrl(): string {
    return `${this.issuer}/keys`;
  }

  /** Listens, on the port that it had before where one is given. */
  async listen(port = 0): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.listen(port, "127.0.0.1", resolve);
    await promise;
  }

  /** Goes away; the port is free. Answers it. */
  async leave(): Promise<number> {
    const { port } = this.#server.address() as AddressInfo;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    this.#server.closeAllConnections();
    await promise;
    return port;
  }

  /** A new key, published or not, that tokens are signed with from now on. */
  async addKey(kid: string, alg: string, { publish = true, named = true } = {}): Promise<void> {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    const published = { ...(await exportJWK(publicKey)), ...(named && { kid }), alg, use: "sig" };
    this.#keys.set(kid, { alg, privateKey, published });
    if (publish) this.published.add(kid);
    this.#newest = kid;
  }

  /** A token; the claims replace or add to those of one that is good for a minute, undefined leaves one out. */
  async token(
    claims: Readonly<Record<string, unknown>> = {},
    { kid = this.#newest, header = {}, expiresIn = 300 }: TokenOptions = {},
  ): Promise<string> {
    const key = this.#keys.get(kid);
    if (key === undefined) throw new TypeError(`no key ${kid}`);
    const now = Math.floor(Date.now() / 1000);
    const payload = { iss: this.issuer, aud: AUDIENCE, sub: "alice", iat: now, exp: now + expiresIn, ...claims };
    const given = Object.fromEntries(
      Object.entries({ alg: key.alg, kid, typ: "JWT", ...header }).filter(([, value]) => value !== undefined),
    );
    return new SignJWT(Object.fromEntries(Object.entries(payload).filter(([, value]) => value !== undefined)))
      .setProtectedHeader(given as { alg: string })
      .sign(key.privateKey);
  }

  /** How often the key set was fetched. */
  get fetches(): number {
    return this.asked.filter((path) => path === "/keys").length;
  }

  #answer({ url = "" }: IncomingMessage, response: ServerResponse): void {
    this.asked.push(url);
    const { status = 200, discovery } = this.fault ?? {};
    const document = { issuer: this.issuer, jwks_uri: this.jwksUrl, ...discovery };
    const keys = [...this.published].map((kid) => this.#keys.get(kid)?.published);
    const body = url === "/keys" ? { keys } : url === "/.well-known/openid-configuration" ? document : undefined;
    response.writeHead(body === undefined ? 404 : status, { "content-type": "application/json" }).end(JSON.stringify(body ?? {}));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#server.listening) await this.leave();
  }
}
