/** Metrics of the test's own process, as a scraper gets them. */
import { type Scrape } from "../../src/server/ops.ts";
import { startTelemetry } from "../../src/server/telemetry/sdk.ts";
import { SILENT } from "../../src/core/telemetry.ts";

/** One line. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

let starting: Promise<Scrape> | undefined;

/** Sets the SDK up for this process, once. To be called before a server is made. */
export async function scrapeOfThisProcess(): Promise<() => Promise<readonly Sample[]>> {
  starting ??= startTelemetry({ replica: "test", log: SILENT, environment: {} }).then(({ scrape }) => {
    if (scrape === undefined) throw new Error("nothing to scrape");
    return scrape;
  });
  const scrape = await starting;
  return async () => parseSamples(await scrape());
}

/** Reads the text format of Prometheus. */
export function parseSamples(text: string): readonly Sample[] {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return lines.map((line) => {
    const [, name = "", labels = "", value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === "") throw new Error(`no sample: ${line}`);
    const pairs = [...labels.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)].map(([, key = "", escaped = ""]) => [key, escaped] as const);
    return { name, labels: Object.fromEntries(pairs), value: value === "+Inf" ? Infinity : Number(value) };
  });
}

/** The sum of all samples of a name that have these labels. */
export function sumOf(samples: readonly Sample[], name: string, labels: Readonly<Record<string, string>> = {}): number {
  const wanted = Object.entries(labels);
  const fit = samples.filter((sample) => sample.name === name && wanted.every(([key, value]) => sample.labels[key] === value));
  return fit.reduce((sum, { value }) => sum + value, 0);
}
