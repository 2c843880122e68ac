/** Judges objects of Kubernetes by the schemas of their kinds: types, required fields and forms at run time, unknown keys by the compiler. */
import { execFile } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../e2e/server-process.ts";
import { removeFolder, temporaryFolder } from "../redis/child-guard.ts";
import type { KubernetesObject } from "./render.ts";

/** Packages whose kinds these are, by the ends of their groups; the last one has all that Kubernetes itself knows. */
const PACKAGES = [
  [/(^|\.)gateway\.networking\.k8s\.io\//, "@kubernetes-models/gateway-api"],
  [/\.istio\.io\//, "@kubernetes-models/istio"],
  [/^monitoring\.coreos\.com\//, "@kubernetes-models/prometheus-operator"],
  [/^(v1|apps\/|policy\/|autoscaling\/|networking\.k8s\.io\/)/, "kubernetes-models"],
] as const;

/** Kinds that no package has a schema of: written down here as far as they are used, as the documentation of Envoy Gateway 1.6 has them. */
const OWN_TYPES = `
export interface ITargetRef { group: "gateway.networking.k8s.io"; kind: "GRPCRoute" | "HTTPRoute"; name: string }
export interface IBackendTrafficPolicy {
  apiVersion: "gateway.envoyproxy.io/v1alpha1";
  kind: "BackendTrafficPolicy";
  metadata: { name: string };
  spec: {
    targetRefs: ITargetRef[];
    timeout: { http: { requestTimeout?: string; maxStreamDuration?: string; streamIdleTimeout?: string } };
  };
}
`;

/** The module that has a kind; undefined where none is known. */
function moduleOf({ apiVersion }: KubernetesObject): string | undefined {
  const found = PACKAGES.find(([group]) => group.test(apiVersion));
  return found && `${found[1]}/${apiVersion}`;
}

/** Throws where a value breaks the schema of its kind, or the kind is not known. */
async function checkValues(object: KubernetesObject): Promise<void> {
  const module = moduleOf(object);
  if (module === undefined) return;
  const models = (await import(module)) as Record<string, new (data: object) => { validate(): void }>;
  const Model = models[object.kind];
  if (Model === undefined) throw new Error(`${module} has no ${object.kind}`);
  new Model(object).validate();
}

/** Throws with what the compiler says of keys that a kind does not have, or of types that differ. */
async function checkKeys(objects: readonly KubernetesObject[]): Promise<void> {
  const lines = objects.map((object, index) => {
    const module = moduleOf(object);
    const type = module === undefined ? `I${object.kind}` : `import(${JSON.stringify(module)}).I${object.kind}`;
    return `export const object${index}: ${type} = ${JSON.stringify(object)};`;
  });
  const folder = temporaryFolder("objects");
  try {
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
    writeFileSync(join(folder, "objects.mts"), `${OWN_TYPES}${lines.join("\n")}\n`);
    const config = { extends: join(ROOT, "tsconfig.json"), include: [], files: ["objects.mts"] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    await promisify(execFile)(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", folder]);
  } catch (error) {
    throw new Error((error as { stdout: string }).stdout, { cause: error });
  } finally {
    removeFolder(folder);
  }
}

/** Rejects where an object is not what its kind allows; keys that the kind does not know are refused. */
export async function checkObjects(objects: readonly KubernetesObject[]): Promise<void> {
  await Promise.all(objects.map(checkValues));
  await checkKeys(objects);
}
