/** Renders a kustomization: by kustomize or kubectl where there is one, else by the kustomize that test/deploy/kustomize pins, which Go builds. */
import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import { ROOT } from "../e2e/server-process.ts";
import { findProgram } from "../find-program.ts";

const RENDER_MS = 240_000;
const PINNED = join(ROOT, "test/deploy/kustomize");

/** An object of Kubernetes, as it is sent to a cluster. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly [key: string]: unknown;
}

/** The program and the arguments that come before the folder; undefined where this machine has none. */
function renderer(): readonly [program: string, ...args: string[]] | undefined {
  const [kustomize, kubectl, go] = ["kustomize", "kubectl", "go"].map((name) => findProgram(name));
  if (kustomize !== undefined) return [kustomize, "build"];
  if (kubectl !== undefined) return [kubectl, "kustomize"];
  return go === undefined ? undefined : [go, "-C", PINNED, "tool", "kustomize", "build"];
}

/** Why nothing can be rendered here; false where it can. For the `skip` of a suite. */
export const CANNOT_RENDER: string | false = renderer() === undefined && "kustomize, kubectl or Go is missing";

/** The objects of a folder: an absolute one, or one below deploy/kustomize. */
export async function render(folder: string): Promise<readonly KubernetesObject[]> {
  const [program, ...args] = renderer() ?? [""];
  const path = resolve(ROOT, "deploy/kustomize", folder);
  const { stdout } = await promisify(execFile)(program, [...args, path], { timeout: RENDER_MS, maxBuffer: 16 * 1024 * 1024 });
  return parseAllDocuments(stdout).map((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS() as KubernetesObject;
  });
}
