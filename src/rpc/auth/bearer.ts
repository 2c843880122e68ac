/** `Authorization: Bearer`: one token, which one of several readers may know (RFC 6750). */
import { type AuthScheme, type Judgement, REALM, type SchemeDeclaration } from "./auth-scheme.ts";

/** Knows some bearer tokens. */
export interface TokenReader {
  /** What the card says of these tokens, by name. */
  readonly declared: Readonly<Record<string, SchemeDeclaration>>;
  /** Judges a token; undefined where it is none of this reader's. */
  read(token: string): Judgement | undefined | Promise<Judgement | undefined>;
}

const FORM = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/** The scheme of all bearer tokens of a server: the first reader that knows a token has the say. */
export class Bearer implements AuthScheme {
  readonly declared: AuthScheme["declared"];
  readonly wants = "Authorization: Bearer <token>";
  readonly #readers: readonly TokenReader[];

  constructor(readers: readonly TokenReader[]) {
    this.#readers = readers;
    this.declared = Object.assign({}, ...readers.map(({ declared }) => declared)) as AuthScheme["declared"];
  }

  challenge(refused?: string): string {
    return bearerChallenge(refused === undefined ? {} : { error: "invalid_token", error_description: refused });
  }

  async judge(headers: Headers): Promise<Judgement | undefined> {
    const header = headers.get("authorization");
    // What is for somebody else, such as a gateway's Basic, is left to it.
    if (header === null || !/^Bearer( |$)/i.test(header)) return undefined;
    const token = FORM.exec(header)?.[1];
    if (token === undefined) return { refused: "what Authorization says is no bearer token" };
    for (const reader of this.#readers) {
      const judged = await reader.read(token);
      if (judged !== undefined) return judged;
    }
    return { refused: "the bearer token is not known" };
  }
}

/** A challenge with parameters; their values are quoted. */
export function bearerChallenge(parameters: Readonly<Record<string, string>>): string {
  return [`Bearer ${REALM}`, ...Object.entries(parameters).map(([name, value]) => `${name}="${value}"`)].join(", ");
}
