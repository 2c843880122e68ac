/** Metrics for a scraper, in the text format of Prometheus. */
import { PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { MetricReader } from "@opentelemetry/sdk-metrics";

/** Collects when it is asked. It serves nothing itself: the operations port does. */
export class ScrapedMetrics extends MetricReader {
  readonly #serializer = new PrometheusSerializer("", false, undefined, false, true);

  /** What there is now. */
  async scrape(): Promise<string> {
    const { resourceMetrics } = await this.collect();
    return this.#serializer.serialize(resourceMetrics);
  }

  protected override async onForceFlush(): Promise<void> {}

  protected override async onShutdown(): Promise<void> {}
}
