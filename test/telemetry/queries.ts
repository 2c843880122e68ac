/** Queries of Prometheus, read by Prometheus's own grammar. */
import { parser } from "@prometheus-io/lezer-promql";

/** A metric as a query names it. */
interface Selected {
  readonly name: string;
  readonly matchers: readonly { readonly label: string; readonly operator: string; readonly value: string }[];
}

/** What a query asks for. */
export interface Query {
  readonly selected: readonly Selected[];
  /** Labels that it groups by. */
  readonly grouped: readonly string[];
}

/** Reads a query. Throws where it is none. */
export function parseQuery(given: string): Query {
  // Variables of the dashboard that stand for a duration; those in strings are text.
  const text = given.replaceAll("$__rate_interval", "5m");
  const selected: { name: string; matchers: { label: string; operator: string; value: string }[] }[] = [];
  const grouped: string[] = [];
  let place = "";
  parser.parse(text).iterate({
    enter({ type, from, to }) {
      const words = text.slice(from, to);
      if (type.isError) throw new Error(`not a query, at ${from}: ${given}`);
      if (type.name === "GroupingLabels" || type.name === "UnquotedLabelMatcher") place = type.name;
      if (type.name === "VectorSelector") selected.push({ name: "", matchers: [] });
      const current = selected.at(-1);
      if (type.name === "Identifier" && current !== undefined) current.name = words;
      if (type.name === "LabelName" && place === "GroupingLabels") grouped.push(words);
      else if (type.name === "LabelName") current?.matchers.push({ label: words, operator: "", value: "" });
      const matcher = current?.matchers.at(-1);
      if (type.name === "MatchOp" && matcher !== undefined) matcher.operator = words;
      if (type.name === "StringLiteral" && matcher !== undefined) matcher.value = JSON.parse(words) as string;
    },
  });
  return { selected, grouped };
}
