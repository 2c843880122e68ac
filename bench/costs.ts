/**
 * `node bench/costs.ts FILE.cpuprofile…`: where a server of Node spends its time, by groups of functions; of the profiles that `--profile` writes.
 * What happens in Node or in V8 counts for whoever called it, but writes to sockets, which are system calls. Leaves out waiting, the start, and the
 * stripping of types, which what is installed does without.
 */
import { readFileSync } from "node:fs";

/** In which a server starts and warms up. */
const SKIPPED_MS = 2_500;
const SHOWN = 16;

interface Frame {
  readonly functionName: string;
  readonly url: string;
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: Frame;
  readonly children?: readonly number[];
}

interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[];
}

/** The first that a frame matches; of its function or its file. */
const BY_FUNCTION: readonly (readonly [RegExp, string | undefined])[] = [
  [/^\((idle|root)\)$/u, undefined],
  [/^\(garbage collector\)$/u, "garbage collection"],
  [/^\(program\)$/u, "V8 and libuv outside of JavaScript"],
  [/^write(v|Buffer|Utf8String|Latin1String)?$/u, "writes to sockets"],
];

const BY_FILE: readonly (readonly [RegExp, string | undefined])[] = [
  [/^wasm|amaro|internal\/modules/u, undefined],
  [/^node:internal\/http2/u, "node:http2"],
  [/^node:internal\/crypto/u, "node:crypto"],
  [/@bufbuild\/protobuf\/.*(to-binary|binary-encoding)/u, "protobuf-es: encoding and decoding"],
  [/@bufbuild\/protobuf\//u, "protobuf-es: creating messages"],
  [/@grpc\/grpc-js\//u, "grpc-js"],
  [/(ioredis|redis-parser)\//u, "ioredis"],
  [/@connectrpc\//u, "Connect"],
  [/\/src\/bindings\/(frame-writer|envelope)/u, "src/bindings: frames"],
  [/\/src\/(storage\/\w+)\//u, "src/$1"],
  [/\/src\/(core|worker|rpc|service|bindings|server)\//u, "src/$1"],
  [/\/(bench|conformance-agent)\//u, "the agent"],
];

for (const file of process.argv.slice(2)) {
  const shares = sharesOf(JSON.parse(readFileSync(file, "utf8")) as Profile);
  process.stdout.write(
    `${file}\n${shares
      .slice(0, SHOWN)
      .map(([group, share]) => `${(100 * share).toFixed(1).padStart(6)} %  ${group}\n`)
      .join("")}`,
  );
}

/** The share of each group in all that was done, the largest first. */
function sharesOf({ nodes, samples, timeDeltas }: Profile): [group: string, share: number][] {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const callers = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  const spent = new Map<string, number>();
  let at = 0;
  let busy = 0;
  for (const [index, sample] of samples.entries()) {
    const took = timeDeltas[index] ?? 0;
    at += took;
    const group = at < SKIPPED_MS * 1_000 ? undefined : groupOf(sample, frames, callers);
    if (group === undefined) continue;
    busy += took;
    spent.set(group, (spent.get(group) ?? 0) + took);
  }
  return [...spent].map(([group, took]): [string, number] => [group, took / busy]).toSorted(([, a], [, b]) => b - a);
}

/** Of the innermost frame that belongs to one. */
function groupOf(sample: number, frames: ReadonlyMap<number, Frame>, callers: ReadonlyMap<number, number>): string | undefined {
  for (let id: number | undefined = sample; id !== undefined; id = callers.get(id)) {
    const { functionName, url } = frames.get(id) as Frame;
    const rule = url === "" ? BY_FUNCTION.find(([name]) => name.test(functionName)) : BY_FILE.find(([path]) => path.test(url));
    if (rule === undefined) continue;
    const [pattern, group] = rule;
    return group === undefined ? undefined : (pattern.exec(url || functionName)?.[0] ?? "").replace(pattern, group);
  }
  return "Node: event loop, microtasks, timers";
}
