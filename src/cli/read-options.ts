/** Options from a file, the environment and flags; the later wins, and every error names where the value came from. */
import { readFile } from "node:fs/promises";
import { OptionsError, optionsSchema, resolveOptions, type ServerOptions } from "../server/options.ts";

/** One option as the command line knows it. */
export interface KnownOption {
  /** Path in the options object: `["dedupe", "mode"]`. */
  readonly path: readonly string[];
  readonly flag: string;
  readonly variable: string;
  readonly description: string;
}

/** Every option of the schema, nested ones by their own flag. */
export function knownOptions(): readonly KnownOption[] {
  return Object.entries(optionsSchema.shape).flatMap(([key, schema]): KnownOption[] => {
    const description = schema.description ?? "";
    if (key !== "dedupe") return [known([key], description)];
    return [
      known([key, "mode"], `${description} window, running or off.`),
      known([key, "windowMs"], "How long a repeat is told in mode window."),
    ];
  });
}

function known(path: readonly string[], description: string): KnownOption {
  const words = path.join("-").replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return { path, description, flag: words, variable: `THROUGHLINE_${words.replaceAll("-", "_").toUpperCase()}` };
}

/** Reads and completes the options. Throws OptionsError. */
export async function readOptions(
  flags: Readonly<Record<string, string>>,
  environment: NodeJS.ProcessEnv,
  file: string | undefined,
): Promise<ServerOptions> {
  const given: Record<string, unknown> = file === undefined ? {} : await readFileOptions(file);
  const sources = new Map<string, string>();
  for (const option of knownOptions()) {
    const fromFlag = flags[option.flag];
    const text = fromFlag ?? environment[option.variable];
    if (text === undefined) continue;
    sources.set(option.path.join("."), fromFlag === undefined ? option.variable : `--${option.flag}`);
    set(given, option.path, text);
  }
  try {
    return resolveOptions(given);
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error;
    const lines = error.message.split("\n").map((line) => {
      const name = line.slice(0, line.indexOf(":"));
      const source = sources.get(name);
      return source === undefined ? line : `${source} (${line})`;
    });
    throw new OptionsError(lines.join("\n"));
  }
}

async function readFileOptions(file: string): Promise<Record<string, unknown>> {
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new OptionsError(`--config: cannot read ${file}`, { cause });
  });
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch (cause) {
    throw new OptionsError(`--config: ${file} is not JSON`, { cause });
  }
  throw new OptionsError(`--config: ${file} does not hold a JSON object`);
}

function set(target: Record<string, unknown>, path: readonly string[], text: string): void {
  const [key = "", inner] = path;
  if (inner === undefined) target[key] = meaning(key, text);
  else target[key] = { ...(target[key] as object | undefined), [inner]: /^\d+$/.test(text) ? Number(text) : text };
}

/** Texts have no types: the first reading that the option takes is the one that was meant. */
function meaning(key: string, text: string): unknown {
  const schema = optionsSchema.shape[key as keyof typeof optionsSchema.shape];
  const readings: unknown[] = [text, ...(/^-?\d+$/.test(text) ? [Number(text)] : []), ...json(text), text.split(",")];
  return readings.find((reading) => schema.safeParse(reading).success) ?? readings[1] ?? text;
}

function json(text: string): unknown[] {
  try {
    return /^[[{]/.test(text) ? [JSON.parse(text)] : [];
  } catch {
    return [];
  }
}
