/** What the program sets up by itself, and by the standard variables of OpenTelemetry. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { OptionsError } from "../../src/server/options.ts";
import { readTelemetryPlan } from "../../src/server/telemetry/sdk-variables.ts";
import { GrpcCaller } from "../bindings/callers/grpc.ts";
import { HttpClient } from "../bindings/callers/http.ts";
import { send } from "../bindings/bed.ts";
import { QUICK, runCli, type ServerProcess, startServer } from "../e2e/server-process.ts";
import { Collector } from "./collector.ts";
import { parseSamples, sumOf } from "./scraped.ts";

const AGENT = "test/e2e/agents/ticking.ts";

/** A server with these variables that has served one task, and has ended. */
async function oneTask(variables: Readonly<Record<string, string>>): Promise<ServerProcess> {
  const server = await startServer([AGENT], { ...QUICK, ...variables });
  const caller = new GrpcCaller(server.ports.grpc);
  try {
    await caller.unary("SendMessage", send("ticks 1 1"));
    return server;
  } finally {
    caller.close();
    await server[Symbol.asyncDispose]();
  }
}

suite("telemetry of the program", { timeout: 180_000 }, () => {
  test("metrics are at /metrics of the operations port, and nowhere else", async () => {
    await using server = await startServer([AGENT], { ...QUICK, OTEL_SERVICE_NAME: "shop", OTEL_RESOURCE_ATTRIBUTES: "cell=7" });
    const [ops, http] = [new HttpClient(server.ports.ops), new HttpClient(server.ports.http)];
    try {
      const reply = await ops.fetch({ method: "GET", target: "/metrics" });
      assert.equal(reply.status, 200);
      assert.match(String(reply.headers.get("content-type")), /^text\/plain; version=0\.0\.4/);
      const samples = parseSamples(reply.text);
      assert.equal(sumOf(samples, "throughline_store_available"), 1);
      const info = samples.find(({ name }) => name === "target_info");
      assert.deepEqual([info?.labels["service_name"], info?.labels["cell"]], ["shop", "7"]);
      assert.equal((await ops.fetch({ method: "POST", target: "/metrics" })).status, 404);
      assert.equal((await http.fetch({ method: "GET", target: "/metrics" })).status, 404);
    } finally {
      ops.close();
      http.close();
    }
  });

  test("what a collector is to have goes there, the last of it before the process ends", async () => {
    await using collector = await Collector.open();
    await oneTask({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_HEADERS: "x-key=k1" });
    const metrics = collector.of("metrics");
    assert.ok(metrics.length >= 1);
    for (const { headers, body } of metrics) {
      assert.deepEqual([headers["content-type"], headers["x-key"]], ["application/x-protobuf", "k1"]);
      assert.ok(body.includes("throughline.turns.ended"));
    }
  });

  test("a collector that is away holds up neither the start nor the calls nor the end", async () => {
    const server = await oneTask({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" });
    assert.deepEqual(await server.process.exited, { code: 0, signal: null });
  });

  test("a collector that is away is told in one line that says what happened, without a stack", async () => {
    const away = {
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1",
      OTEL_EXPORTER_OTLP_TIMEOUT: "100",
      OTEL_METRIC_EXPORT_INTERVAL: "200",
    };
    await using server = await startServer([AGENT], { ...QUICK, ...away, OTEL_METRIC_EXPORT_TIMEOUT: "200" });
    await server.process.until(({ stderr }) => /"telemetry: .*\n/.test(stderr));
    const line = server.process.stderr.split("\n").find((one) => one.includes("telemetry: ")) ?? "";
    const { level, msg } = JSON.parse(line) as { readonly level: number; readonly msg: string };
    assert.equal(level, 40);
    assert.match(msg, /^telemetry: [^{}]+$/);
  });

  test("a collector that answers what nobody can read is told as that", async () => {
    await using collector = await Collector.open("\u00ff\u00ff what is this");
    const often = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_METRIC_EXPORT_INTERVAL: "200", OTEL_METRIC_EXPORT_TIMEOUT: "200" };
    await using server = await startServer([AGENT], { ...QUICK, ...often });
    await server.process.until(({ stderr }) => /"telemetry: .*\n/.test(stderr));
    assert.match(server.process.stderr, /telemetry: \w+: .*could not deserialize response/);
  });

  test("attributes of the process that make no label leave the metrics readable", async () => {
    const OTEL_RESOURCE_ATTRIBUTES = "1st=a,cloud.region=b,cloud_region=c,said=%22d%0A";
    await using server = await startServer([AGENT], { ...QUICK, OTEL_RESOURCE_ATTRIBUTES });
    const ops = new HttpClient(server.ports.ops);
    const { text } = await ops.fetch({ method: "GET", target: "/metrics" });
    ops.close();
    const info = text.split("\n").find((line) => line.startsWith("target_info{")) ?? "";
    const names = [...info.matchAll(/([^{,=]+)="(?:[^"\\]|\\.)*"/g)].map(([, name = ""]) => name);
    assert.ok(names.includes("cloud_region") && names.includes("service_name") && names.includes("said"), info);
    assert.equal(new Set(names).size, names.length, info);
    for (const name of names) assert.match(name, /^[a-zA-Z_]\w*$/);
  });

  test("OTEL_SDK_DISABLED turns all of it off", async () => {
    await using server = await startServer([AGENT], {
      ...QUICK,
      OTEL_SDK_DISABLED: "true",
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1",
    });
    const ops = new HttpClient(server.ports.ops);
    try {
      assert.equal((await ops.fetch({ method: "GET", target: "/metrics" })).status, 404);
      assert.equal((await ops.fetch({ method: "GET", target: "/livez" })).status, 200);
    } finally {
      ops.close();
    }
  });

  test("variables that cannot be followed are refused at the start, each by its name", async () => {
    const { code, stderr } = await runCli(["serve", AGENT], {
      ...QUICK,
      OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
      OTEL_TRACES_EXPORTER: "zipkin",
    });
    assert.equal(code, 2);
    assert.match(stderr, /OTEL_EXPORTER_OTLP_PROTOCOL: .*http\/protobuf/);
    assert.match(stderr, /OTEL_TRACES_EXPORTER: must be some of otlp, none/);
  });

  test("the variables say what is exported, how often, and which traces are kept", () => {
    const nothing = { prometheus: true, metrics: undefined, traces: undefined };
    assert.deepEqual(readTelemetryPlan({}), nothing);
    assert.deepEqual(readTelemetryPlan({ OTEL_EXPORTER_OTLP_ENDPOINT: " " }), nothing);
    for (const yes of ["true", "TRUE", "True"]) assert.equal(readTelemetryPlan({ OTEL_SDK_DISABLED: yes }), undefined);
    const followed = { OTEL_EXPORTER_OTLP_COMPRESSION: "gzip", OTEL_EXPORTER_OTLP_TIMEOUT: "500" };
    assert.deepEqual(readTelemetryPlan({ ...followed, OTEL_EXPORTER_OTLP_CERTIFICATE: import.meta.filename }), nothing);
    const endpoint = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://collector/v1/traces" };
    const sampled = readTelemetryPlan({ ...endpoint, OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.1" });
    assert.deepEqual([sampled?.metrics, sampled?.traces?.sampler, sampled?.traces?.ratio], [undefined, "parentbased_traceidratio", 0.1]);
    const plan = readTelemetryPlan({
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector",
      OTEL_METRIC_EXPORT_INTERVAL: "1000",
      OTEL_METRICS_EXPORTER: "otlp",
    });
    assert.deepEqual([plan?.prometheus, plan?.metrics], [false, { everyMs: 1000, timeoutMs: 1000 }]);
    assert.deepEqual(
      readTelemetryPlan({ OTEL_METRICS_EXPORTER: "none", OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector", OTEL_TRACES_EXPORTER: "none" }),
      {
        ...nothing,
        prometheus: false,
      },
    );
    for (const wrong of [
      { OTEL_METRIC_EXPORT_INTERVAL: "0" },
      { OTEL_METRIC_EXPORT_INTERVAL: "3000000000", OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector" },
      { OTEL_METRICS_EXPORTER: "prometheus,stdout" },
      { OTEL_SDK_DISABLED: "yes" },
      { OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" },
      { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "collector" },
      { OTEL_EXPORTER_OTLP_TIMEOUT: "10s" },
      { OTEL_EXPORTER_OTLP_METRICS_COMPRESSION: "zip" },
      { OTEL_EXPORTER_OTLP_CERTIFICATE: "none/ca.pem" },
      { OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY: import.meta.dirname },
    ])
      assert.throws(
        () => readTelemetryPlan(wrong),
        (error) => error instanceof OptionsError && error.message.startsWith(Object.keys(wrong)[0] ?? "?"),
      );
    assert.throws(() => readTelemetryPlan({ ...endpoint, OTEL_TRACES_SAMPLER_ARG: "2" }), /OTEL_TRACES_SAMPLER_ARG/);
  });
});
