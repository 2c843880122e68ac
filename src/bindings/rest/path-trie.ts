/** Chooses among path templates: a literal beats `*` beats `**`, segment by segment from the left. */
import { decodeEscapes, type PathTemplate } from "./path-template.ts";

/** What was found under a path. */
export interface TrieMatch<T> {
  readonly value: T;
  /** The path's segments, still encoded, without the verb of the template. */
  readonly segments: readonly string[];
}

/** Values at one end of the trie: by verb, then by HTTP method. */
type Ends<T> = Map<string, Map<string, T>>;

interface Node<T> {
  readonly literals: Map<string, Node<T>>;
  star: Node<T> | undefined;
  /** Templates that end here. */
  readonly ends: Ends<T>;
  /** Templates that end here with `**`. */
  readonly restEnds: Ends<T>;
}

/** Values by path template and HTTP method. */
export class PathTrie<T> {
  readonly #root: Node<T> = newNode();

  /** Adds a value. Where the same paths and method lead to another value already, nothing is added and that value is returned. */
  add(template: PathTemplate, httpMethod: string, value: T): T | undefined {
    let node = this.#root;
    let { ends } = node;
    for (const segment of template.segments) {
      if (segment.kind === "rest") ends = node.restEnds;
      else {
        node = segment.kind === "star" ? (node.star ??= newNode()) : entry(node.literals, segment.text, newNode<T>);
        ({ ends } = node);
      }
    }
    const byMethod = entry(ends, template.verb, () => new Map<string, T>());
    const taken = byMethod.get(httpMethod);
    if (taken === undefined) byMethod.set(httpMethod, value);
    return taken;
  }

  /**
   * Finds the best value for a raw path. What comes after the last colon is a verb where any value has it there, whatever its method, else
   * part of the segment, so that ids with colons stay reachable; an encoded colon is never a verb. No segment is empty, so a trailing slash matches nothing. Returns the
   * HTTP methods that would have led to a value, in order, where `httpMethod` leads to none.
   */
  find(httpMethod: string, rawPath: string): TrieMatch<T> | readonly string[] {
    const segments = rawPath.split("/");
    if (segments.shift() !== "" || segments.includes("")) return [];
    const allow = new Set<string>();
    const last = segments.at(-1) ?? "";
    const colon = last.lastIndexOf(":");
    const verb = colon > 0 ? decodeEscapes(last.slice(colon + 1)) : undefined;
    let found = verb ? this.#find([...segments.slice(0, -1), last.slice(0, colon)], verb, httpMethod, allow) : undefined;
    if (found === undefined && allow.size === 0) found = this.#find(segments, "", httpMethod, allow);
    return found ?? [...allow].toSorted();
  }

  #find(segments: readonly string[], verb: string, httpMethod: string, allow: Set<string>): TrieMatch<T> | undefined {
    const texts = segments.map(decodeEscapes);
    const pick = (ends: Ends<T>): T | undefined => {
      const byMethod = ends.get(verb);
      const value = byMethod?.get(httpMethod) ?? byMethod?.get("*");
      if (value === undefined) for (const other of byMethod?.keys() ?? []) allow.add(other);
      return value;
    };
    const descend = (node: Node<T>, index: number): T | undefined => {
      if (index === texts.length) return pick(node.ends) ?? pick(node.restEnds);
      const text = texts[index];
      const literal = text === undefined ? undefined : node.literals.get(text);
      return (literal && descend(literal, index + 1)) ?? (node.star && descend(node.star, index + 1)) ?? pick(node.restEnds);
    };
    const value = descend(this.#root, 0);
    return value === undefined ? undefined : { value, segments };
  }
}

function newNode<T>(): Node<T> {
  return { literals: new Map(), star: undefined, ends: new Map(), restEnds: new Map() };
}

function entry<V>(map: Map<string, V>, key: string, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
