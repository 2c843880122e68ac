/** Conditional requests (RFC 9110, section 13), as far as reading a document needs them. */
import type { IncomingHttpHeaders } from "node:http";

/** What tells one version of a document from another. */
export interface Validators {
  /** The entity tag, quotes included. */
  readonly etag: string;
  /** Milliseconds since the epoch, a whole number of seconds. */
  readonly modifiedAt: number;
}

/**
 * Whether the caller of a GET or HEAD has this version already. If-None-Match decides where it is sent, by weak comparison; only without
 * it does If-Modified-Since, and a date that is no HTTP date counts as not sent.
 */
export function hasCurrent(headers: IncomingHttpHeaders, { etag, modifiedAt }: Validators): boolean {
  const tags = headers["if-none-match"];
  if (tags !== undefined) return tags.trim() === "*" || opaqueTags(tags).includes(etag);
  return modifiedAt <= httpDate(headers["if-modified-since"] ?? "");
}

/** The tags of a list without their weakness. A tag may hold commas. */
function opaqueTags(list: string): string[] {
  return list.match(/"[^"]*"/g) ?? [];
}

const IMF_FIXDATE = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;
const RFC850_DATE = /^[A-Z][a-z]{5,8}, \d\d-[A-Z][a-z]{2}-\d\d \d\d:\d\d:\d\d GMT$/;
const ASCTIME_DATE = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/;

/** A date in one of the three forms that HTTP has; NaN for any other text, whatever else Date would make of it. */
function httpDate(text: string): number {
  if (IMF_FIXDATE.test(text) || RFC850_DATE.test(text)) return Date.parse(text);
  return ASCTIME_DATE.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}
