/** Options from a file, the environment and flags; the later wins, and every error names where the value came from. */
import { readFile } from "node:fs/promises";
import {
  choicesOf,
  describedOptions,
  OptionsError,
  resolveOptions,
  schemaAt,
  type ServerOptions,
  type ServerOptionsInput,
} from "../server/options.ts";

/** One option as the command line knows it. */
export interface KnownOption {
  /** Path in the options object: `["dedupe", "mode"]`. */
  readonly path: readonly string[];
  readonly flag: string;
  readonly variable: string;
  readonly description: string;
  /** All values that it takes, where those are few. */
  readonly choices: readonly string[] | undefined;
  /** Its default in a few words; undefined where there is none, or the description says it. */
  readonly fallback: string | undefined;
}

/** Every option of the schema, nested ones by their own flag. */
export function knownOptions(): readonly KnownOption[] {
  const defaults: Record<string, unknown> = resolveOptions({});
  return describedOptions().map(({ path, description }) => {
    const words = path.join("-").replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const [key = "", inner] = path;
    const value = inner === undefined ? defaults[key] : (defaults[key] as Record<string, unknown>)[inner];
    return {
      path,
      description,
      flag: words,
      variable: `THROUGHLINE_${words.replaceAll("-", "_").toUpperCase()}`,
      choices: choicesOf(schemaAt(path)),
      fallback: ["string", "number", "boolean"].includes(typeof value) && value !== "" ? String(value) : undefined,
    };
  });
}

/** Reads and completes the options: the file's, over them the environment's, over those the flags'. Throws OptionsError. */
export async function readOptions(
  flags: Readonly<Record<string, string>>,
  environment: NodeJS.ProcessEnv,
  file: string | undefined,
  defaults: ServerOptionsInput = {},
): Promise<ServerOptions> {
  const given: Record<string, unknown> = { ...defaults, ...(file === undefined ? {} : await readFileOptions(file)) };
  const sources = new Map<string, string>();
  for (const option of knownOptions()) {
    const fromFlag = flags[option.flag];
    // A variable that is set to nothing counts as one that is not set.
    const text = fromFlag ?? (environment[option.variable] || undefined);
    if (text === undefined) continue;
    sources.set(option.path.join("."), fromFlag === undefined ? option.variable : `--${option.flag}`);
    set(given, option.path, text);
  }
  const idle = idleRedisOption(given["redis"]);
  if (idle !== undefined) {
    const source = sources.get(`redis.${idle}`) ?? `--config ${file}`;
    throw new OptionsError(`${source} (redis.${idle}: has no effect without redis.url)`);
  }
  try {
    return resolveOptions(given);
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error;
    const lines = error.message.split("\n").map((line) => {
      const source = sourceOf(line, sources) ?? (file === undefined ? undefined : `--config ${file}`);
      return source === undefined ? line : `${source} (${line})`;
    });
    throw new OptionsError(lines.join("\n"));
  }
}

/** An option of Redis where nobody asked for Redis: most likely the URL was misspelt. */
function idleRedisOption(redis: unknown): string | undefined {
  if (!isObject(redis) || "url" in redis) return undefined;
  return Object.keys(redis)[0];
}

/** Where the option that a line of an error is about came from; the line may name a part of it, as `tenants.0`. */
function sourceOf(line: string, sources: ReadonlyMap<string, string>): string | undefined {
  const name = line.slice(0, line.indexOf(":"));
  for (const [option, source] of sources) if (name === option || name.startsWith(`${option}.`)) return source;
  return undefined;
}

async function readFileOptions(file: string): Promise<Record<string, unknown>> {
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new OptionsError(`--config: cannot read ${file}`, { cause });
  });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    // What stands there may be a secret: where it stands is enough.
    const why = (cause as Error).message.replace(/, (\.\.\.)?".*" ?is not valid JSON$/s, "");
    throw new OptionsError(`--config: ${file} is not JSON: ${why}`, { cause });
  }
  if (!isObject(value)) throw new OptionsError(`--config: ${file} does not hold a JSON object`);
  return { ...value };
}

function set(target: Record<string, unknown>, path: readonly string[], text: string): void {
  const [key = "", inner] = path;
  const value = meaning(path, text);
  if (inner === undefined) target[key] = value;
  // What is no object stays, for the schema to refuse.
  else if (target[key] === undefined || isObject(target[key])) target[key] = { ...target[key], [inner]: value };
}

/** Texts have no types: the first reading that the option takes is the one that was meant. */
function meaning(path: readonly string[], text: string): unknown {
  const schema = schemaAt(path);
  const readings: unknown[] = [text, number(text) ?? text, ...json(text), text.split(",")];
  return readings.find((reading) => schema?.safeParse(reading).success) ?? best(readings, schema);
}

/** The reading of which the schema says the most: a list with one bad element rather than "not a list". */
function best(readings: readonly unknown[], schema: ReturnType<typeof schemaAt>): unknown {
  const deep = readings.find((reading) => schema?.safeParse(reading).error?.issues.some(({ path }) => path.length > 0));
  return deep ?? readings[1];
}

function number(text: string): number | undefined {
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}

function json(text: string): unknown[] {
  try {
    return /^([[{]|(true|false)$)/.test(text) ? [JSON.parse(text)] : [];
  } catch {
    return [];
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
