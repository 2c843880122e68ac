/** The standard variables of OpenTelemetry, as far as the program follows them (docs/observability.md). */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { OptionsError } from "../options.ts";

/** Where a kind of signal may go. */
const METRICS = ["prometheus", "otlp", "none"] as const;
const TRACES = ["otlp", "none"] as const;
const SAMPLERS = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const;

/** Which traces are recorded. */
export interface Sampling {
  readonly sampler: (typeof SAMPLERS)[number];
  /** Part of the traces, 0 to 1, for the samplers by ratio. */
  readonly ratio: number;
}

/** What is set up. */
export interface TelemetryPlan {
  readonly prometheus: boolean;
  /** Milliseconds between two exports and for one; undefined: metrics are not exported. */
  readonly metrics: { readonly everyMs: number; readonly timeoutMs: number } | undefined;
  /** Undefined: traces are not exported. */
  readonly traces: (Sampling & SpanBatches) | undefined;
}

/** How spans are exported. */
interface SpanBatches {
  readonly delayMs: number;
  readonly timeoutMs: number;
  readonly queueSize: number;
  readonly batchSize: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

// Longer timers than Node's would fire all the time.
const positive = z.coerce
  .number()
  .int()
  .min(1)
  .max(2 ** 31 - 1);
// Its specification: in any case of letters.
const truth = z
  .string()
  .toLowerCase()
  .pipe(z.enum(["true", "false"]));
const webUrl = z.url({ protocol: /^https?$/, error: "is no URL that begins with http:// or https://" });
const readable = z.string().refine(isReadable, "is no file that can be read");

function isReadable(path: string): boolean {
  try {
    readFileSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Reads the variables; undefined where OTEL_SDK_DISABLED is true. An empty one is as good as none. Throws {@link OptionsError}, naming each that is wrong. */
export function readTelemetryPlan(environment: Environment): TelemetryPlan | undefined {
  const reader = new Reader(environment);
  if (reader.one("OTEL_SDK_DISABLED", truth, "false") === "true") return undefined;
  const endpoint = reader.text("OTEL_EXPORTER_OTLP_ENDPOINT");
  const told = (signal: string): boolean => (endpoint ?? reader.text(`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`)) !== undefined;
  const metrics = reader.list("OTEL_METRICS_EXPORTER", METRICS, told("METRICS") ? ["prometheus", "otlp"] : ["prometheus"]);
  const traces = reader.list("OTEL_TRACES_EXPORTER", TRACES, told("TRACES") ? ["otlp"] : ["none"]);
  for (const prefix of ["OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_METRICS_", "OTEL_EXPORTER_OTLP_TRACES_"]) checkExporter(reader, prefix);
  const everyMs = reader.one("OTEL_METRIC_EXPORT_INTERVAL", positive, 60_000);
  const plan: TelemetryPlan = {
    prometheus: metrics.includes("prometheus"),
    metrics: metrics.includes("otlp")
      ? { everyMs, timeoutMs: Math.min(everyMs, reader.one("OTEL_METRIC_EXPORT_TIMEOUT", positive, 30_000)) }
      : undefined,
    traces: traces.includes("otlp")
      ? {
          sampler: reader.one("OTEL_TRACES_SAMPLER", z.enum(SAMPLERS), "parentbased_always_on"),
          ratio: reader.one("OTEL_TRACES_SAMPLER_ARG", z.coerce.number().min(0).max(1), 1),
          delayMs: reader.one("OTEL_BSP_SCHEDULE_DELAY", positive, 5000),
          timeoutMs: reader.one("OTEL_BSP_EXPORT_TIMEOUT", positive, 30_000),
          queueSize: reader.one("OTEL_BSP_MAX_QUEUE_SIZE", positive, 2048),
          batchSize: reader.one("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", positive, 512),
        }
      : undefined,
  };
  reader.end();
  return plan;
}

/** What the exporters read themselves: of what they cannot follow they would say so in the log, and go on without it. */
function checkExporter(reader: Reader, prefix: string): void {
  reader.one(`${prefix}PROTOCOL`, z.enum(["http/protobuf"]), "http/protobuf");
  reader.one(`${prefix}ENDPOINT`, webUrl, "");
  reader.one(`${prefix}TIMEOUT`, positive, 1);
  reader.one(`${prefix}COMPRESSION`, z.enum(["none", "gzip"]), "none");
  for (const file of ["CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"]) reader.one(`${prefix}${file}`, readable, "");
}

/** Reads one variable after the other, and tells of all that are wrong at once. */
class Reader {
  readonly #environment: Environment;
  readonly #wrong: string[] = [];

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  text(name: string): string | undefined {
    return this.#environment[name]?.trim() || undefined;
  }

  one<T>(name: string, schema: z.ZodType<T>, fallback: T): T {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const { success, data, error } = schema.safeParse(text);
    if (success) return data;
    this.#wrong.push(`${name}: ${error.issues[0]?.message ?? "is wrong"}`);
    return fallback;
  }

  list<T extends string>(name: string, all: readonly T[], fallback: readonly T[]): readonly T[] {
    const schema = z.array(z.enum(all));
    const given = this.text(name)?.split(",");
    if (given === undefined) return fallback;
    const { success, data } = schema.safeParse(given.map((one) => one.trim()));
    if (success) return data.includes("none" as T) ? [] : data;
    this.#wrong.push(`${name}: must be some of ${all.join(", ")}`);
    return fallback;
  }

  end(): void {
    if (this.#wrong.length > 0) throw new OptionsError(this.#wrong.join("\n"));
  }
}
