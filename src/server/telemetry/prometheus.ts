/** Metrics for a scraper, in the text format of Prometheus. */
import { PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { type Resource, resourceFromAttributes } from "@opentelemetry/resources";
import { MetricReader } from "@opentelemetry/sdk-metrics";

/** Collects when it is asked. It serves nothing itself: the operations port does. */
export class ScrapedMetrics extends MetricReader {
  readonly #serializer = new PrometheusSerializer("", false, undefined, false, true);

  /** What there is now. */
  async scrape(): Promise<string> {
    const { resourceMetrics } = await this.collect();
    return this.#serializer.serialize({ ...resourceMetrics, resource: asLabels(resourceMetrics.resource) });
  }

  protected override async onForceFlush(): Promise<void> {}

  protected override async onShutdown(): Promise<void> {}
}

/** Without attributes whose names make no label, or that of another one: a scraper would refuse all metrics for one of them. The first one stays. */
function asLabels({ attributes }: Resource): Resource {
  const kept = new Map<string, readonly [string, Resource["attributes"][string]]>();
  for (const [name, value] of Object.entries(attributes)) {
    const label = name.replaceAll(/\W/g, "_");
    if (/^[a-z_]/i.test(label) && !kept.has(label)) kept.set(label, [name, value]);
  }
  return resourceFromAttributes(Object.fromEntries(kept.values()));
}
