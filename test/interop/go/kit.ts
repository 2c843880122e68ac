/** Go: the official SDK, and plain grpc-go with stubs that are generated from the published schema. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../e2e/server-process.ts";
import type { Command, ForeignKit, Remark } from "../foreign-kit.ts";
import { runCommand } from "../run-command.ts";

const HERE = import.meta.dirname;
const MODULES = readFileSync(join(HERE, "go.mod"), "utf8");
const PLUGINS = ["protoc-gen-go", "protoc-gen-go-grpc"];
const STUBS = ["a2a.pb.go", "a2a_grpc.pb.go"];
// Nothing is resolved anew, and no repository is looked for.
const env = { GOFLAGS: "-mod=readonly -buildvcs=false" };

const sdk = { name: "a2a-go", version: versionOf("github.com/a2aproject/a2a-go/v2"), bindings: ["grpc", "rest", "jsonrpc"] } as const;
const grpc = { name: "grpc-go", version: versionOf("google.golang.org/grpc"), bindings: ["grpc"] } as const;

const REMARKS: readonly Remark[] = [
  {
    columns: ["list"],
    bindings: ["grpc"],
    outcome: "fails",
    why: "its gRPC transport sends a page size of 0 where none is asked for (`ToProtoListTasksRequest` in a2apb/v1/pbconv), and A2A wants 1 to 100; with a page size it works",
  },
];

export const go: ForeignKit = {
  name: "go",
  title: "Go",
  about: "The server of a2a-go lists tasks only for callers that it can name, so here it gives all of them one name.",
  needs: [{ program: "go", install: "https://go.dev/doc/install" }],
  build: async (cache) => {
    await runCommand("go", ["install", "tool"], { cwd: HERE, env: { ...env, GOBIN: join(cache, "bin") } });
    await runCommand("buf", ["generate", "--template", template(cache)], { cwd: ROOT });
    writeFileSync(join(cache, "overlay.json"), overlay(cache));
    const args = ["build", "-overlay", join(cache, "overlay.json"), "-o", join(cache, "bin"), "./..."];
    await runCommand("go", args, { cwd: HERE, env });
  },
  servers: (cache) => [
    { ...sdk, command: program(cache, "sdkserver") },
    { ...grpc, command: program(cache, "grpcserver") },
  ],
  clients: (cache) => [
    { ...sdk, command: program(cache, "sdkclient"), remarks: REMARKS },
    { ...grpc, command: program(cache, "grpcclient") },
  ],
};

function program(cache: string, name: string): Command {
  return { file: join(cache, "bin", name), args: [] };
}

/** Of `buf generate`: stubs of the schema as a package of this module, in the cache. */
function template(cache: string): string {
  const opt = ["module=throughline/interop", "Mlf/a2a/v1/a2a.proto=throughline/interop/a2apb"];
  const plugins = PLUGINS.map((plugin) => ({ local: join(cache, "bin", plugin), out: cache, opt }));
  return JSON.stringify({ version: "v2", plugins, inputs: [{ directory: ".", paths: ["proto/lf"] }] });
}

/** Of `go build`: where the stubs are that the module's own folder has not. */
function overlay(cache: string): string {
  const files = STUBS.map((stub) => [join(HERE, "a2apb", stub), join(cache, "a2apb", stub)]);
  return JSON.stringify({ Replace: Object.fromEntries(files) });
}

function versionOf(module: string): string {
  return new RegExp(`${module} v(\\S+)`).exec(MODULES)?.[1] ?? "";
}
