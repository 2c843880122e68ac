/** Static bearer tokens: one per principal, from the configuration. */
import { anyOf } from "./auth-scheme.ts";
import type { Authenticate, Principal } from "./authenticate.ts";
import { Bearer, type TokenReader } from "./bearer.ts";
import { digestOf, SecretBook } from "./secret-book.ts";

/** Tokens and who they stand for, or the names of those alone. */
export type TokenMap = Readonly<Record<string, string | Principal>>;

/** Knows the tokens of a map. */
export class StaticTokens implements TokenReader {
  readonly declared = { bearer: { scheme: { case: "httpAuthSecurityScheme", value: { scheme: "Bearer" } } } } as const;
  readonly #book: SecretBook;

  constructor(tokens: TokenMap) {
    const known = Object.entries(tokens).map(([token, who]) => ({ digest: digestOf(token), principal: principalOf(who) }));
    this.#book = new SecretBook(known);
  }

  read(token: string): Principal | undefined {
    return this.#book.find(token);
  }
}

/** Lets in who brings `Authorization: Bearer <token>` with one of the tokens. Keys of the map are tokens, values principals or their names. */
export function bearerTokens(tokens: TokenMap): Authenticate {
  return anyOf([new Bearer([new StaticTokens(tokens)])]);
}

function principalOf(who: string | Principal): Principal {
  return typeof who === "string" ? { name: who } : who;
}
