/** What is deployed to Kubernetes: every object by its schema, and what has to fit the server that runs in it. */
import assert from "node:assert/strict";
import { before, suite, test } from "node:test";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { knownOptions, readOptions } from "../../src/cli/read-options.ts";
import { longestDrainMs } from "../../src/server/drain-time.ts";
import { resolveOptions } from "../../src/server/options.ts";
import { healthOf, Probes } from "../../src/server/probes.ts";
import { checkObjects } from "./object-schemas.ts";
import { CANNOT_RENDER, type KubernetesObject, render } from "./render.ts";

const OVERLAYS = ["embedded", "redis", "redis-cluster", "istio", "istio/gateway", "gateway-api", "monitoring"] as const;
const STREAMING = Object.values(A2AService.method).filter(({ methodKind }) => methodKind === "server_streaming");
/** What is left between the end of a drain and the kill. */
const RESERVE_S = 4;
const options = resolveOptions({});

interface Container {
  readonly name: string;
  readonly env?: readonly { readonly name: string }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext: object;
  readonly resources: { readonly requests: Record<string, string>; readonly limits: Record<string, string> };
  readonly [probe: `${string}Probe`]: { readonly grpc: { readonly port: number; readonly service: string } };
}

interface PodSpec {
  readonly terminationGracePeriodSeconds?: number;
  readonly enableServiceLinks: boolean;
  readonly automountServiceAccountToken: boolean;
  readonly securityContext: Record<string, unknown>;
  readonly containers: readonly [Container, ...Container[]];
}

interface Workload extends KubernetesObject {
  readonly spec: {
    readonly replicas?: number;
    readonly selector: { readonly matchLabels: Record<string, string> };
    readonly template: { readonly metadata: { readonly labels: Record<string, string> }; readonly spec: PodSpec };
  };
}

interface Policy extends KubernetesObject {
  readonly spec: {
    readonly podSelector: { readonly matchLabels?: Record<string, string> };
    readonly egress?: readonly { readonly ports?: readonly { readonly port: number | string }[]; readonly to?: readonly unknown[] }[];
  };
}

suite("the kustomizations", { timeout: 600_000, skip: CANNOT_RENDER }, () => {
  const rendered = new Map<string, readonly KubernetesObject[]>();
  before(async () => {
    for (const overlay of OVERLAYS) rendered.set(overlay, await render(`overlays/${overlay}`));
  });
  const all = (): readonly KubernetesObject[] => [...rendered.values()].flat();
  const of = <T extends KubernetesObject>(overlay: string, kind: string): T[] =>
    (rendered.get(overlay) ?? []).filter((object) => object.kind === kind) as T[];
  const one = (overlay: string, kind: string): KubernetesObject => of(overlay, kind)[0] ?? assert.fail(`${overlay} has no ${kind}`);
  const deployment = (overlay: string): Workload => one(overlay, "Deployment") as Workload;
  const workloads = (): Workload[] => all().filter(({ kind }) => kind === "Deployment" || kind === "StatefulSet") as Workload[];

  test("render to objects that their schemas allow, with no key that these do not know", async () => {
    for (const objects of rendered.values()) assert.ok(objects.length > 0);
    await checkObjects(all());
  });

  test("are judged by schemas that refuse an unknown key and a wrong value", async () => {
    const [service] = of("redis", "Service");
    assert.ok(service !== undefined);
    await assert.rejects(checkObjects([{ ...service, spec: { ...(service["spec"] as object), prots: [] } }]), /prots/);
    await assert.rejects(checkObjects([{ ...service, spec: { ports: [{ port: "eighty" }] } }]), /port/);
    await assert.rejects(checkObjects([{ ...service, kind: "Sevrice" }]), /Sevrice/);
  });

  test("wait for a drain with the defaults before they kill, and not much longer", () => {
    const drainS = Math.ceil(longestDrainMs(options) / 1000);
    for (const overlay of OVERLAYS.filter((name) => name !== "istio/gateway"))
      assert.equal(deployment(overlay).spec.template.spec.terminationGracePeriodSeconds, drainS + RESERVE_S);
    const { annotations } = deployment("istio").spec.template.metadata as { annotations?: Record<string, string> };
    const [, proxyS] = /terminationDrainDuration: (\d+)s/.exec(annotations?.["proxy.istio.io/config"] ?? "") ?? [];
    assert.ok(Number(proxyS) > drainS && Number(proxyS) < drainS + RESERVE_S, "the sidecar stays for as long as the server");
  });

  test("give their pods no rights, no root, and nothing to write to", () => {
    for (const { spec } of workloads()) {
      const { securityContext, containers, automountServiceAccountToken, enableServiceLinks } = spec.template.spec;
      assert.deepEqual([automountServiceAccountToken, enableServiceLinks], [false, false]);
      assert.equal(securityContext["runAsNonRoot"], true);
      assert.ok(Number(securityContext["runAsUser"]) > 0);
      assert.deepEqual(securityContext["seccompProfile"], { type: "RuntimeDefault" });
      for (const container of containers) {
        assert.deepEqual(container.securityContext, {
          allowPrivilegeEscalation: false,
          privileged: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        });
        assert.deepEqual(
          [Object.keys(container.resources.requests), Object.keys(container.resources.limits)],
          [["cpu", "memory"], ["memory"]],
        );
      }
    }
  });

  test("probe the ports that the server listens on, by services that its health knows", () => {
    const known = healthOf(new Probes({ state: () => "serving", available: () => true, readinessGraceMs: 0 }));
    const [container] = deployment("redis").spec.template.spec.containers;
    const { grpcPort, httpPort, opsPort } = options;
    assert.deepEqual(
      container.ports.map(({ name, containerPort }) => [name, containerPort]),
      [
        ["grpc", grpcPort],
        ["http", httpPort],
        ["operations", opsPort],
      ],
    );
    const probes = (["startupProbe", "livenessProbe", "readinessProbe"] as const).map((probe) => container[probe]?.grpc);
    assert.deepEqual(
      probes.map((grpc) => [grpc?.port, grpc?.service]),
      [
        [grpcPort, "startup"],
        [grpcPort, "liveness"],
        [grpcPort, A2AService.typeName],
      ],
    );
    for (const grpc of probes) assert.ok(grpc !== undefined && grpc.service in known);
  });

  test("have Services whose ports and pods there are, with the protocol of each port", () => {
    for (const overlay of OVERLAYS) {
      const owners = [...of<Workload>(overlay, "Deployment"), ...of<Workload>(overlay, "StatefulSet")];
      for (const service of of(overlay, "Service")) {
        const { selector, ports } = service["spec"] as {
          selector: Record<string, string>;
          ports: { targetPort: string; appProtocol?: string }[];
        };
        const owner = owners.find(({ spec }) => matches(spec.template.metadata.labels, selector)) ?? assert.fail(service.metadata.name);
        const names = new Set(owner.spec.template.spec.containers.flatMap((container) => container.ports.map(({ name }) => name)));
        for (const { targetPort, appProtocol } of ports) {
          assert.ok(names.has(targetPort));
          assert.ok(appProtocol !== undefined);
        }
      }
      for (const owner of owners) {
        assert.ok(matches(owner.spec.template.metadata.labels, owner.spec.selector.matchLabels));
        assert.equal(owners.filter(({ spec }) => matches(spec.template.metadata.labels, owner.spec.selector.matchLabels)).length, 1);
      }
    }
    const headless = of("redis", "Service").find(({ metadata }) => metadata.name === "throughline-headless") ?? assert.fail();
    assert.equal((headless["spec"] as { clusterIP: string }).clusterIP, "None");
  });

  test("set options that there are, to values that the server takes", async () => {
    const variables = new Map(knownOptions().map((option) => [option.variable, option.path.join(".")]));
    for (const overlay of OVERLAYS) {
      const plain = of(overlay, "ConfigMap").map((object) => object["data"] as Record<string, string>);
      const secret = of(overlay, "Secret").flatMap((object) =>
        Object.entries(object["data"] as Record<string, string>).map(
          ([name, text]) => [name, Buffer.from(text, "base64").toString()] as const,
        ),
      );
      const given = Object.entries({ ...Object.assign({}, ...plain), ...Object.fromEntries(secret) } as Record<string, string>);
      const environment = Object.fromEntries(given.filter(([name]) => name.startsWith("THROUGHLINE_")));
      for (const name of Object.keys(environment)) assert.ok(variables.has(name), name);
      await readOptions({}, environment, undefined);
    }
    const [{ env = [] }] = deployment("redis").spec.template.spec.containers;
    assert.deepEqual(
      env.map(({ name }) => variables.get(name)),
      ["replica"],
    );
  });

  test("have one pod where nothing is shared, and an autoscaler and a budget where Redis is", () => {
    const kinds = (overlay: string): Set<string> => new Set((rendered.get(overlay) ?? []).map(({ kind }) => kind));
    const elastic = ["HorizontalPodAutoscaler", "PodDisruptionBudget"];
    assert.equal(deployment("embedded").spec.replicas, 1);
    assert.ok(elastic.every((kind) => !kinds("embedded").has(kind)));
    for (const overlay of ["redis", "redis-cluster", "istio", "gateway-api", "monitoring"]) {
      assert.equal(deployment(overlay).spec.replicas, undefined);
      assert.ok(elastic.every((kind) => kinds(overlay).has(kind)));
    }
  });

  test("let their pods find names, and a sidecar its control plane", () => {
    for (const overlay of OVERLAYS.filter((name) => name !== "istio/gateway")) {
      const out = of<Policy>(overlay, "NetworkPolicy")
        .filter(({ spec }) => spec.podSelector.matchLabels?.["app.kubernetes.io/name"] === "throughline")
        .flatMap(({ spec }) => spec.egress ?? []);
      const to = (port: number): unknown[] =>
        out.filter(({ ports }) => ports?.some((listed) => listed.port === port)).flatMap((rule) => rule.to ?? []);
      // All labels of a selector have to be there, and the cluster's DNS servers have this one.
      const servers = { matchExpressions: [{ key: "k8s-app", operator: "In", values: ["kube-dns"] }] };
      assert.deepEqual(to(53), [{ namespaceSelector: {}, podSelector: servers }], overlay);
      const istiod = { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "istio-system" } } };
      assert.deepEqual(to(15012), overlay === "istio" ? [istiod] : [], overlay);
    }
    for (const { metadata, spec } of of<Workload>("istio", "StatefulSet"))
      assert.equal(spec.template.metadata.labels["sidecar.istio.io/inject"], "false", `${metadata.name} may reach nothing`);
  });

  test("hold a Redis that still loads its data for one that is not ready", () => {
    for (const { spec } of all().filter(({ kind }) => kind === "StatefulSet") as Workload[]) {
      const [container] = spec.template.spec.containers as unknown as [Record<string, { readonly exec?: object }>];
      for (const probe of ["startupProbe", "readinessProbe"])
        assert.deepEqual(container[probe]?.exec, { command: ["redis-cli", "-e", "ping"] });
    }
  });

  test("have each pod scraped at the port and the path where its metrics are", () => {
    const { selector, podMetricsEndpoints } = one("monitoring", "PodMonitor")["spec"] as {
      selector: { matchLabels: Record<string, string> };
      podMetricsEndpoints: { port: string; path: string }[];
    };
    const { template } = deployment("monitoring").spec;
    assert.ok(matches(template.metadata.labels, selector.matchLabels));
    const ports = new Set(template.spec.containers.flatMap((container) => container.ports.map(({ name }) => name)));
    assert.deepEqual(
      podMetricsEndpoints.map(({ port, path }) => [ports.has(port), path]),
      [[true, "/metrics"]],
    );
  });

  test("let streams of every binding stay open in a mesh: no timeout of their route, an hour of silence", () => {
    interface Match {
      readonly uri?: { readonly exact?: string; readonly regex?: string };
      readonly headers?: object;
    }
    const { http } = one("istio", "VirtualService")["spec"] as {
      http: { timeout?: string; match?: Match[]; route: { destination: { port: { number: number } } }[] }[];
    };
    const routeOf = (path: string, grpc: boolean): (typeof http)[number] | undefined =>
      http.find(({ match }) =>
        (match ?? [{}]).some(
          ({ uri, headers }) =>
            (headers === undefined || grpc) && (uri?.exact ?? path) === path && new RegExp(`^${uri?.regex ?? ".*"}$`).test(path),
        ),
      );
    for (const path of streamingPaths()) assert.equal(routeOf(path, false)?.timeout, "0s", path);
    for (const path of STREAMING.map(grpcPath)) {
      assert.equal(routeOf(path, true)?.timeout, "0s");
      assert.equal(routeOf(path, true)?.route[0]?.destination.port.number, options.grpcPort);
    }
    assert.equal(routeOf("/message:send", false)?.route[0]?.destination.port.number, options.httpPort);
    for (const filter of [...of("istio", "EnvoyFilter"), ...of("istio/gateway", "EnvoyFilter")])
      assert.match(JSON.stringify(filter), /"stream_idle_timeout":"3600s"/);
  });

  test("let streams of every binding stay open behind a Gateway: no timeout of their route, an hour of silence", () => {
    const named = (kind: string): { name: string; spec: unknown } => {
      const route = of("gateway-api", kind).find(({ metadata }) => metadata.name.endsWith("-streams")) ?? assert.fail(kind);
      return { name: route.metadata.name, spec: route["spec"] };
    };
    const grpc = named("GRPCRoute");
    const methods = (grpc.spec as { rules: { matches: { method: { method: string } }[] }[] }).rules.flatMap(({ matches: found }) => found);
    assert.deepEqual(
      methods.map(({ method }) => method.method),
      STREAMING.map(({ name }) => name),
    );
    const http = named("HTTPRoute");
    const { rules } = http.spec as { rules: { matches: { path: { type: string; value: string } }[]; timeouts: object }[] };
    for (const { timeouts } of rules) assert.deepEqual(timeouts, { request: "0s", backendRequest: "0s" });
    const paths = rules.flatMap(({ matches: found }) => found.map(({ path }) => path));
    for (const path of streamingPaths())
      assert.ok(
        paths.some(({ type, value }) => (type === "Exact" ? value === path : new RegExp(`^${value}$`).test(path))),
        path,
      );
    const policy = one("gateway-api", "BackendTrafficPolicy")["spec"] as { targetRefs: { name: string }[]; timeout: object };
    assert.deepEqual(new Set(policy.targetRefs.map(({ name }) => name)), new Set([grpc.name, http.name]));
    assert.deepEqual(policy.timeout, { http: { requestTimeout: "0s", maxStreamDuration: "0s", streamIdleTimeout: "3600s" } });
  });
});

function matches(labels: Record<string, string>, selector: Record<string, string>): boolean {
  return Object.entries(selector).every(([name, value]) => labels[name] === value);
}

function grpcPath({ name }: { readonly name: string }): string {
  return `/${A2AService.typeName}/${name}`;
}

/** Where streams are asked for over HTTP: HTTP+JSON with a tenant and without, JSON-RPC, Connect and gRPC-Web. */
function streamingPaths(): string[] {
  const rest = ["/message:stream", "/tasks/01a2:subscribe"];
  return [...rest, ...rest.map((path) => `/acme${path}`), "/", "/jsonrpc", "/jsonrpc/", "/a2a/jsonrpc", ...STREAMING.map(grpcPath)];
}
