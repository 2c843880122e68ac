/**
 * The path templates of google/api/http.proto:
 *
 *     Template  = "/" Segment { "/" Segment } [ ":" Literal ]
 *     Segment   = "*" | "**" | Literal | Variable
 *     Variable  = "{" FieldPath [ "=" Segment { "/" Segment } ] "}"
 *     FieldPath = Identifier { "." Identifier }
 *
 * A variable holds no other variable, and `**` is the last segment.
 */

/** One segment of a path: a literal, already decoded, exactly one segment (`*`), or any number of them (`**`). */
type PathSegment = { readonly kind: "literal"; readonly text: string } | { readonly kind: "star" } | { readonly kind: "rest" };

/** A variable and the segments that it takes. */
export interface PathVariable {
  /** Proto names of the field it binds, outermost first. */
  readonly fieldPath: readonly string[];
  /** Index of its first segment. */
  readonly start: number;
  /** Index after its last segment; undefined where it goes on to the end of the path. */
  readonly end: number | undefined;
  /** Whether it is exactly one segment: then every escape is decoded, otherwise `%2F` stays as it is. */
  readonly single: boolean;
}

/** A parsed template. */
export interface PathTemplate {
  readonly segments: readonly PathSegment[];
  readonly variables: readonly PathVariable[];
  /** What comes after the colon, decoded; empty where there is none. */
  readonly verb: string;
}

/** Parses a template. Throws a SyntaxError with the column, what was expected there and what was found. */
export function parsePathTemplate(source: string): PathTemplate {
  return new TemplateParser(source).template();
}

const IDENTIFIER = /[A-Za-z_]\w*/y;
/** What RFC 3986 allows in a segment, without the colon, which begins a verb, and the asterisk, which is a wildcard. */
const LITERAL = /(?:[A-Za-z0-9\-._~!$&'()+,;=@]|%[0-9A-Fa-f]{2})+/y;

class TemplateParser {
  readonly #source: string;
  readonly #segments: PathSegment[] = [];
  readonly #variables: PathVariable[] = [];
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  template(): PathTemplate {
    if (!this.#take("/")) this.#fail(`"/"`);
    this.#segmentList(() => this.#segmentOrVariable());
    const verb = this.#take(":") ? this.#literal("a verb") : "";
    if (this.#at < this.#source.length) this.#fail(verb === "" ? `"/", ":" or the end` : "the end");
    return { segments: this.#segments, variables: this.#variables, verb };
  }

  #segmentList(segment: () => void): void {
    segment();
    while (this.#source[this.#at] === "/") {
      if (this.#segments.at(-1)?.kind === "rest") this.#fail("nothing but a verb after **");
      this.#at++;
      segment();
    }
  }

  #segmentOrVariable(): void {
    if (this.#take("{")) this.#variable();
    else this.#segment(`a literal, "*", "**" or "{"`);
  }

  #segment(expected: string): void {
    if (this.#take("**")) this.#segments.push({ kind: "rest" });
    else if (this.#take("*")) this.#segments.push({ kind: "star" });
    else this.#segments.push({ kind: "literal", text: this.#literal(expected) });
  }

  #variable(): void {
    const column = this.#at;
    const fieldPath = [this.#identifier()];
    while (this.#take(".")) fieldPath.push(this.#identifier());
    const name = fieldPath.join(".");
    if (this.#variables.some((other) => other.fieldPath.join(".") === name)) this.#fail("a field that is not bound yet", column);
    const start = this.#segments.length;
    const pattern = this.#take("=");
    if (pattern) this.#segmentList(() => this.#segment(`a literal, "*" or "**"`));
    else this.#segments.push({ kind: "star" });
    if (!this.#take("}")) this.#fail(pattern ? `"/" or "}"` : `".", "=" or "}"`);
    const rest = this.#segments.at(-1)?.kind === "rest";
    const end = this.#segments.length;
    this.#variables.push({ fieldPath, start, end: rest ? undefined : end, single: !rest && end === start + 1 });
  }

  #identifier(): string {
    return this.#match(IDENTIFIER) ?? this.#fail("an identifier");
  }

  #literal(expected: string): string {
    const column = this.#at;
    const text = this.#match(LITERAL) ?? this.#fail(expected);
    if (this.#source[this.#at] === "%") this.#fail("two hexadecimal digits after %", this.#at + 1);
    return decodeEscapes(text) ?? this.#fail("escapes that are UTF-8", column);
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const text = pattern.exec(this.#source)?.[0];
    this.#at += text?.length ?? 0;
    return text;
  }

  #take(token: string): boolean {
    if (!this.#source.startsWith(token, this.#at)) return false;
    this.#at += token.length;
    return true;
  }

  #fail(expected: string, at: number = this.#at): never {
    const found = at < this.#source.length ? JSON.stringify(this.#source[at]) : "the end";
    throw new SyntaxError(`path template ${this.#source}: syntax error at column ${at + 1}: expected ${expected}, found ${found}`);
  }
}

/** Decodes percent escapes once; undefined where they are malformed or no UTF-8. */
export function decodeEscapes(text: string): string | undefined {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
