/** API keys in a header, the query or a cookie. The server has their digests only. */
import type { CallOrigin } from "./authenticate.ts";
import { type AuthScheme, type Judgement, REALM } from "./auth-scheme.ts";
import { type KnownSecret, SecretBook } from "./secret-book.ts";

/** Where keys come, and which. */
export interface ApiKeyOptions {
  readonly in: "header" | "query" | "cookie";
  /** Of the header, the parameter or the cookie. */
  readonly name: string;
  readonly keys: readonly KnownSecret[];
}

/** What browsers say of requests that pages of other origins have made (Fetch Metadata). */
const FOREIGN: ReadonlySet<string> = new Set(["cross-site", "same-site"]);

/** The scheme. gRPC has no query: what would stand there is metadata of that name. */
export class ApiKeys implements AuthScheme {
  readonly declared: AuthScheme["declared"];
  readonly wants: string;
  readonly #options: ApiKeyOptions;
  readonly #book: SecretBook;

  constructor(options: ApiKeyOptions) {
    this.#options = options;
    this.#book = new SecretBook(options.keys);
    const { in: location, name } = options;
    this.declared = { apiKey: { scheme: { case: "apiKeySecurityScheme", value: { location, name } } } };
    this.wants = location === "query" ? `the query parameter ${name}` : `the ${location} ${name}`;
  }

  /** No such scheme is registered; the card's words tell what is meant. */
  challenge(): string {
    return `ApiKey ${REALM}, in="${this.#options.in}", name="${this.#options.name}"`;
  }

  judge(headers: Headers, origin: CallOrigin): Judgement | undefined {
    const keys = [...new Set(this.#brought(headers, origin))];
    const [key] = keys;
    if (key === undefined) return undefined;
    if (keys.length > 1) return { refused: "the call brings several API keys" };
    // Browsers send cookies along with whatever a page asks for.
    if (this.#options.in === "cookie" && FOREIGN.has(headers.get("sec-fetch-site") ?? ""))
      return { refused: "a cookie is not taken from a page of another site" };
    return this.#book.find(key) ?? { refused: "the API key is not known" };
  }

  #brought(headers: Headers, { url }: CallOrigin): string[] {
    const { in: location, name } = this.#options;
    if (location === "cookie") return cookies(headers.get("cookie") ?? "", name);
    const header = headers.get(name);
    if (location === "header") return header === null ? [] : [header];
    const query = url.includes("?") ? new URLSearchParams(url.slice(url.indexOf("?") + 1)).getAll(name) : [];
    return header === null ? query : [...query, header];
  }
}

/** The values of the cookies of a name (RFC 6265, 4.2.1; HTTP/2 may split the field). */
function cookies(field: string, name: string): string[] {
  return field.split(/[;,]/).flatMap((pair) => {
    const at = pair.indexOf("=");
    return at >= 0 && pair.slice(0, at).trim() === name
      ? [
          pair
            .slice(at + 1)
            .trim()
            .replace(/^"(.*)"$/, "$1"),
        ]
      : [];
  });
}
